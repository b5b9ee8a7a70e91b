import { once } from 'node:events'
import http from 'node:http'
import https from 'node:https'
import type { AddressInfo } from 'node:net'
import { keccak256, SigningKey } from 'ethers'

/** r, s and v, in hex. */
export type Signature = { r: string; s: string; v: number }
type Answer = { status?: number; headers?: Readonly<Record<string, string>>; body?: string }
/** Answers a request for a signature in place of the server. It may also never resolve. */
type Fault = (request: {
  sign(key?: SigningKey): Signature
  data: string
  /** Whether the request is for this key. */
  isOf(key: SigningKey): boolean
}) => Answer | Promise<Answer>

export type Web3Signer = Awaited<ReturnType<typeof startWeb3Signer>>

/**
 * A server with the published API of Web3Signer in its `eth1` mode (its OpenAPI document: sign, publicKeys, upcheck), not Web3Signer
 * itself. It signs the Keccak-256 digest of the data, its identifiers are uncompressed public keys, and v is 27 or 28.
 */
export async function startWeb3Signer({
  privateKeys,
  token,
  tls,
}: {
  privateKeys: readonly string[]
  /** Required of every request, as by a proxy in front of a real one. */
  token?: string
  tls?: https.ServerOptions
}) {
  const keys = new Map(
    privateKeys.map((text) => {
      const key = new SigningKey(text)
      return [key.publicKey.slice('0x04'.length), key]
    }),
  )
  const signed: string[] = []
  let fault: Fault | undefined
  let isUp = true

  async function answer(req: http.IncomingMessage): Promise<Answer> {
    if (token !== undefined && req.headers.authorization !== `Bearer ${token}`) return { status: 401 }
    if (!isUp) return { status: 503 }
    const path = req.url ?? ''
    if (req.method === 'GET' && path === '/upcheck') return { body: 'OK' }
    if (req.method === 'GET' && path === '/api/v1/eth1/publicKeys')
      return {
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify([...keys.keys()].map((point) => `0x${point}`)),
      }
    const [, identifier] = /^\/api\/v1\/eth1\/sign\/(?:0x)?([0-9a-f]+)$/i.exec(path) ?? []
    if (req.method !== 'POST' || identifier === undefined) return { status: 404 }
    const data = await readData(req)
    const key = keys.get(identifier.toLowerCase())
    if (data === undefined) return { status: 400 }
    if (key === undefined) return { status: 404 }
    signed.push(data)
    const sign = (by = key): Signature => {
      const { r, s, v } = by.sign(keccak256(data))
      return { r, s, v }
    }
    const isOf = (other: SigningKey) => other.publicKey === key.publicKey
    return fault ? fault({ sign, data, isOf }) : { body: hexOf(sign()) }
  }

  function respond(req: http.IncomingMessage, res: http.ServerResponse): void {
    void answer(req).then(({ status = 200, headers = {}, body = '' }) =>
      res.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', ...headers }).end(body),
    )
  }

  const server = tls ? https.createServer(tls, respond) : http.createServer(respond)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo

  return {
    url: `${tls ? 'https' : 'http'}://127.0.0.1:${port}`,
    /** As it lists them. */
    publicKeys: [...keys.keys()].map((point) => `0x${point}`),
    /** The data of each request for a signature. */
    signed: signed as readonly string[],
    /** From now on until the next call; without a fault it signs. */
    setFault: (next?: Fault) => void (fault = next),
    /** Whether it answers at all, but for 503. */
    setUp: (next: boolean) => void (isUp = next),
    async stop(): Promise<void> {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

export const hexOf = ({ r, s, v }: Signature): string => `${r}${s.slice(2)}${v.toString(16).padStart(2, '0')}`

async function readData(req: http.IncomingMessage): Promise<string | undefined> {
  const parts: Buffer[] = []
  for await (const part of req) parts.push(part as Buffer)
  try {
    const { data } = JSON.parse(Buffer.concat(parts).toString()) as { data?: unknown }
    return typeof data === 'string' && /^0x(?:[0-9a-f]{2})*$/i.test(data) ? data : undefined
  } catch {
    return undefined
  }
}
