import { isTollgateError } from '@tollgate/wallet'
import { CommandError, EXIT } from './exit-codes'
import { readBounded } from './mcp/bounded-body'
import { printable } from './output/printable'

const TIMEOUT_MS = 5_000
const MAX_BYTES = 8 * 1024 * 1024
const MAX_SHOWN = 200

/** What a URL answers to a question that a gateway answers with its price list. */
type Seen =
  | { kind: 'gateway' | 'facilitator' }
  | { kind: 'unreachable'; reason: string }
  | { kind: 'redirect'; to: string }
  | { kind: 'other'; status: number; mediaType: string }

/** An error of a command, or what is wrong with the URL of the gateway if that is its cause. */
export async function explainUrl(error: unknown, url: string | undefined): Promise<unknown> {
  if (url === undefined || !mayBeTheUrl(error)) return error
  return (await findWrongUrl(url).catch(() => undefined)) ?? error
}

/** An error of `tollgate shop`, or that the URL of the facilitator is the one of a gateway. */
export async function explainFacilitatorUrl(error: unknown, given: string | undefined): Promise<unknown> {
  if (given === undefined || !(error instanceof CommandError) || !OF_ANOTHER_SERVER.includes(error.code))
    return error
  const url = withoutSecrets(given).replace(/\/api\/v1$/, '')
  if ((await look(url)).kind !== 'gateway') return error
  return usage(
    `${url} is a Tollgate gateway, and no facilitator`,
    'Give the URL of the facilitator with --facilitator; the one of a gateway is for --url.',
  )
}

const OF_ANOTHER_SERVER = ['NOT_FOUND', 'METHOD_NOT_ALLOWED', 'FACILITATOR_ERROR']

/** Every refusal of a gateway has a code; other servers have the status or a page. */
function mayBeTheUrl(error: unknown): boolean {
  if (!isTollgateError(error)) return false
  const { code, details } = error
  if (code === 'UNREACHABLE') return true
  if (code !== 'GATEWAY_ERROR') return false
  const { status, code: refusal } = details
  if (typeof status === 'number' && isPassing(status)) return false
  return refusal === undefined || status === 404
}

/** A gateway behind a proxy may answer so for a while. */
const isPassing = (status: number) => status >= 500 || status === 429

/** A URL may have a password, and the one of a call has an access key. */
function withoutSecrets(given: string): string {
  const { origin, pathname } = new URL(given)
  return `${origin}${pathname.replaceAll(/tgk_[^/]+/g, 'tgk_…').replace(/\/+$/, '')}`
}

/** Undefined if a gateway answers at the URL. Asks for public texts only, and sends nothing of the wallet. */
export async function findWrongUrl(given: string): Promise<CommandError | undefined> {
  const url = withoutSecrets(given)
  const seen = await look(url)
  if (seen.kind === 'gateway' || (seen.kind === 'other' && isPassing(seen.status))) return undefined
  const other = await findGatewayNear(url)
  if (other !== undefined)
    return usage(`No gateway is at ${url}, but one is at ${other}`, adviceToUse(other, url))
  switch (seen.kind) {
    case 'facilitator':
      return usage(
        `${url} is an x402 facilitator, and no gateway`,
        'Give the URL of the gateway with --url; the one of a facilitator is for `tollgate shop --facilitator`.',
      )
    case 'redirect':
      return usage(
        `${url} redirects to ${shown(seen.to)}, which is not followed`,
        'Give that URL with --url, if it is the gateway that you want.',
      )
    case 'other':
      return usage(
        `${url} answers, and is no Tollgate gateway (${seen.status}, ${shown(seen.mediaType)})`,
        'Give the URL that the operator of the gateway names with --url or TOLLGATE_URL; `npm start` prints the one of a checkout.',
      )
    case 'unreachable':
      return unreachable(new URL(url), seen.reason)
  }
}

/** Another could answer in the place of a gateway that does not encrypt. */
const adviceToUse = (other: string, url: string) =>
  other.startsWith('https:') || url.startsWith('http:') || isOnThisMachine(other)
    ? `Write --url ${other}.`
    : `Ask the operator of the gateway for its URL. Write --url ${other} only on a network that you trust: it does not encrypt.`

export const isOnThisMachine = (url: string): boolean =>
  /^(localhost|127(\.\d+){3}|\[::1\])$/.test(new URL(url).hostname)

const usage = (message: string, advice: string) => new CommandError('WRONG_URL', message, advice, EXIT.USAGE)

function unreachable({ origin, host, hostname }: URL, reason: string): CommandError {
  const [message, advice] = UNKNOWN_HOST.has(reason)
    ? [
        `No host ${hostname} is known (${reason})`,
        'Correct the name in --url, or check the network and its DNS.',
      ]
    : reason === 'ECONNREFUSED'
      ? [
          `Nothing listens at ${origin} (${reason})`,
          'Start the gateway, or correct the host and port in --url.',
        ]
      : reason === NO_ANSWER
        ? [
            `${origin} does not answer within ${TIMEOUT_MS / 1000} s`,
            'Check --url and the network, or try again later.',
          ]
        : IS_CERTIFICATE.test(reason)
          ? [
              `The certificate of ${host} is not trusted (${reason})`,
              'Correct --url, or name the authority of the certificate with NODE_EXTRA_CA_CERTS.',
            ]
          : [`${origin} cannot be reached (${shown(reason)})`, 'Check --url, the network and a proxy.']
  return new CommandError('UNREACHABLE', message, advice, EXIT.UNREACHABLE)
}

const NO_ANSWER = 'no answer in time'
const UNKNOWN_HOST = new Set(['ENOTFOUND', 'EAI_AGAIN'])
const IS_CERTIFICATE = /^(CERT_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|ERR_TLS_CERT_)/

/** The path may be too long, or the scheme the other one. */
async function findGatewayNear(url: string): Promise<string | undefined> {
  const { origin, protocol } = new URL(url)
  const scheme = protocol === 'https:' ? 'http:' : 'https:'
  for (const near of new Set([origin, origin.replace(protocol, scheme)]))
    if (near !== url && (await look(near)).kind === 'gateway') return near
  return undefined
}

async function look(url: string): Promise<Seen> {
  try {
    const answer = await get(`${url}/pricing`)
    const to = answer.headers.get('location')
    if (answer.status >= 300 && answer.status < 400 && to !== null)
      return { kind: 'redirect', to: new URL(to, url).href.replace(/\/pricing$/, '') }
    const { bytes } = await readBounded(answer, MAX_BYTES)
    if (answer.ok && isPriceList(parseJson(bytes.toString()))) return { kind: 'gateway' }
    if ((await isFacilitator(url)) || (await isFacilitator(new URL(url).origin)))
      return { kind: 'facilitator' }
    const mediaType = answer.headers.get('content-type')?.split(';')[0] ?? 'without a type'
    return { kind: 'other', status: answer.status, mediaType }
  } catch (error) {
    return { kind: 'unreachable', reason: reasonOf(error) }
  }
}

const get = (url: string) => fetch(url, { redirect: 'manual', signal: AbortSignal.timeout(TIMEOUT_MS) })

const isPriceList = (body: unknown): boolean =>
  Array.isArray(body) && body.every((plan) => hasMember(plan, 'plan_name'))

async function isFacilitator(url: string): Promise<boolean> {
  try {
    const { bytes } = await readBounded(await get(`${url}/supported`), MAX_BYTES)
    return hasMember(parseJson(bytes.toString()), 'kinds')
  } catch {
    return false
  }
}

const hasMember = (value: unknown, name: string) =>
  typeof value === 'object' && value !== null && name in value

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

const shown = (text: string) => printable(text).slice(0, MAX_SHOWN)

/** `ECONNREFUSED`, `ENOTFOUND`, the name of a problem of the certificate. */
function reasonOf(error: unknown): string {
  const { name, message, cause } = error as Error & { cause?: { code?: string; message?: string } }
  if (name === 'TimeoutError') return NO_ANSWER
  return cause?.code ?? cause?.message ?? message
}
