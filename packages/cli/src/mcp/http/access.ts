import { createHash, timingSafeEqual } from 'node:crypto'
import { isIP } from 'node:net'

export type Listen = { host: string; port: number }

const DEFAULT_HOST = '127.0.0.1'

/** Of `--http`: `8080`, `localhost:8080`, `[::1]:8080`. Undefined if it is none. */
export function parseListen(text: string): Listen | undefined {
  const [, bracketed, plain, digits] = /^(?:(?:\[([^\]]+)\]|([^:[\]]+)):)?(\d{1,5})$/.exec(text) ?? []
  const port = Number(digits)
  if (digits === undefined || port > 65_535) return undefined
  if (bracketed !== undefined) return isIP(bracketed) === 6 ? { host: bracketed, port } : undefined
  return { host: plain ?? DEFAULT_HOST, port }
}

const LOOPBACK = ['127.0.0.1', '::1', 'localhost']

export const isLoopback = ({ host }: Pick<Listen, 'host'>) => LOOPBACK.includes(host.toLowerCase())

export type Access = { isLoopback: boolean; port: number; token: string | undefined }

export type Refusal = { status: 401 | 403; message: string }

type Asked = { host?: string | undefined; origin?: string | undefined; authorization?: string | undefined }

/**
 * A page of a browser may not call, also if its name leads to this machine (DNS rebinding): `Host` must be a name of loopback,
 * and `Origin` absent, which pages of this machine send, too. On another address than loopback, where `Host` may be any name, the token is what a page
 * does not have.
 */
export function findRefusal({ host, origin, authorization }: Asked, access: Access): Refusal | undefined {
  if (access.isLoopback && !isLoopbackHost(host ?? '', access.port))
    return { status: 403, message: 'The Host header must be a name of this machine' }
  if (origin !== undefined) return { status: 403, message: 'Requests of web pages are not accepted' }
  const { token } = access
  if (token !== undefined && !isSame(authorization ?? '', `Bearer ${token}`))
    return { status: 401, message: 'The bearer token is missing or wrong' }
  return undefined
}

const isLoopbackHost = (host: string, port: number) =>
  [`127.0.0.1:${port}`, `localhost:${port}`, `[::1]:${port}`].includes(host.toLowerCase())

const isSame = (one: string, other: string) => timingSafeEqual(digest(one), digest(other))

const digest = (text: string) => createHash('sha256').update(text).digest()
