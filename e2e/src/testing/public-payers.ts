import { type PaymentRequired, type SettleResult } from '@tollgate/protocol'
import { type ExactPermit2Payload } from '@x402/evm'
import { wrapAxiosWithPayment, x402Client as x402ClientOfAxios } from '@x402/axios'
import { ExactEvmScheme, registerExactEvmScheme } from '@x402/evm/exact/client'
import { wrapFetchWithPayment as wrapFetchV2, x402Client, type SelectPaymentRequirements } from '@x402/fetch'
import axios, { isAxiosError, type AxiosInstance, type AxiosResponse } from 'axios'
import { privateKeyToAccount } from 'viem/accounts'
import { withPaymentInterceptor } from 'x402-axios'
import { createSigner, wrapFetchWithPayment } from 'x402-fetch'
import { type Version } from './merchants'
import { postOf } from './plain-calls'

export type Paid = { status: number; body: string; headers: string; receipt: Partial<SettleResult> }

type Fetch = typeof fetch

/** What is paid for: a GET, or a POST of `json`. `sent` gets the headers of each request. */
type Asked = { json?: unknown; headers?: Record<string, string>; sent?: Headers[] }

const signerOf = (privateKey: string) => createSigner('base-sepolia', privateKey)

async function payingFetchV1(privateKey: string, send: Fetch): Promise<Fetch> {
  return wrapFetchWithPayment(send, await signerOf(privateKey))
}

/** The client of version 2. `rpcUrl`: its access to the chain. */
export function payingClient(
  privateKey: string,
  { rpcUrl, select }: { rpcUrl?: string; select?: SelectPaymentRequirements } = {},
) {
  const client = new x402Client(select)
  registerExactEvmScheme(client, {
    signer: privateKeyToAccount(privateKey as `0x${string}`),
    ...(rpcUrl === undefined ? {} : { schemeOptions: { rpcUrl } }),
  })
  return client
}

const payingFetchV2 = (privateKey: string, send: Fetch, rpcUrl?: string): Promise<Fetch> =>
  Promise.resolve(
    wrapFetchV2(send, payingClient(privateKey, rpcUrl === undefined ? {} : { rpcUrl })) as Fetch,
  )

export const recording =
  (sent: Headers[]): Fetch =>
  (input, init) => {
    const request = new Request(input, init)
    sent.push(request.headers)
    return fetch(request)
  }

const PAYMENT_HEADERS = ['x-payment', 'payment-signature'] as const

/** The header with the payment in the requests of a client. @throws Error unless it sent one payment, once */
export function paymentIn(sent: readonly Headers[]): Record<string, string> {
  const [found, ...more] = sent.flatMap((headers) =>
    PAYMENT_HEADERS.flatMap((name) => (headers.has(name) ? [{ [name]: headers.get(name) ?? '' }] : [])),
  )
  if (!found || more.length > 0) throw new Error(`The client sent ${found ? more.length + 1 : 0} payments`)
  return found
}

const requestOf = ({ json, headers = {} }: Asked) =>
  json === undefined ? { headers } : postOf(json, headers)

async function payByAxios(
  { client, version }: { client: AxiosInstance; version: Version },
  url: string,
  { json, headers: extra = {}, sent }: Asked,
): Promise<Paid> {
  client.interceptors.request.use((config) => {
    sent?.push(new Headers(Object.entries(config.headers).map(([name, value]) => [name, String(value)])))
    return config
  })
  const config = { headers: extra }
  const asked = json === undefined ? client.get<string>(url, config) : client.post<string>(url, json, config)
  const { status, data, headers } = await asked.catch((error: unknown) => {
    if (isAxiosError(error) && error.response) return error.response as AxiosResponse<string>
    throw error
  })
  return {
    status,
    body: typeof data === 'string' ? data : JSON.stringify(data),
    headers: JSON.stringify(headers),
    receipt: receiptIn(headers[receiptHeaderOf[version]] as string | undefined),
  }
}

const receiptIn = (header: string | null | undefined) =>
  JSON.parse(Buffer.from(header ?? 'e30=', 'base64').toString()) as Partial<SettleResult>

const receiptHeaderOf = { 1: 'x-payment-response', 2: 'payment-response' } as const

/** As clients of version 2 read it. */
export const receiptOf = ({ headers }: Response) => receiptIn(headers.get(receiptHeaderOf[2]))

async function read(answer: Response, version: Version): Promise<Paid> {
  return {
    status: answer.status,
    body: await answer.text(),
    headers: JSON.stringify([...answer.headers]),
    receipt: receiptIn(answer.headers.get(receiptHeaderOf[version])),
  }
}

/**
 * The unmodified client libraries: each requests `url`, signs the payment of the 402, and repeats the request
 * with it.
 */
export const publicPayers: {
  name: string
  version: Version
  pay(url: string, privateKey: string, asked?: Asked): Promise<Paid>
}[] = [
  {
    name: 'x402-fetch',
    version: 1,
    async pay(url, privateKey, asked = {}) {
      const pay = await payingFetchV1(privateKey, recording(asked.sent ?? []))
      return read(await pay(url, requestOf(asked)), 1)
    },
  },
  {
    name: 'x402-axios',
    version: 1,
    async pay(url, privateKey, asked = {}) {
      const client = withPaymentInterceptor(axios.create(), await signerOf(privateKey))
      return payByAxios({ client, version: 1 }, url, asked)
    },
  },
  {
    name: '@x402/fetch',
    version: 2,
    async pay(url, privateKey, asked = {}) {
      const pay = await payingFetchV2(privateKey, recording(asked.sent ?? []))
      return read(await pay(url, requestOf(asked)), 2)
    },
  },
  {
    name: '@x402/axios',
    version: 2,
    pay(url, privateKey, asked = {}) {
      const client = new x402ClientOfAxios()
      client.register('eip155:*', new ExactEvmScheme(privateKeyToAccount(privateKey as `0x${string}`)))
      return payByAxios({ client: wrapAxiosWithPayment(axios.create(), client), version: 2 }, url, asked)
    },
  },
]

/** `@x402/fetch` with access to the chain: for Permit2 it signs the token's permit if needed. */
export const payByPermit2 = async (url: string, privateKey: string, rpcUrl: string): Promise<Paid> =>
  read(await (await payingFetchV2(privateKey, fetch, rpcUrl))(url), 2)

/** A Permit2 payload, with the token's own permit if Permit2 has no allowance yet. */
export type Permit2Payload = ExactPermit2Payload & {
  eip2612GasSponsoring?: { info: Record<'amount' | 'deadline' | 'signature', string> }
}

/**
 * The same client's Permit2 signature for the first offer of a version 1 402, with the token's permit if
 * needed: the `payload` of a version 1 payment.
 */
export async function signedByPermit2(
  asked: unknown,
  privateKey: string,
  rpcUrl: string,
): Promise<Permit2Payload> {
  const { accepts, paymentRequirements } = asked as PaymentRequired
  const [offer] = accepts ?? []
  if (!offer) throw new Error('The 402 offers no way to pay')
  const { maxAmountRequired: amount, asset, payTo, maxTimeoutSeconds } = offer
  const network = `eip155:${paymentRequirements.network}` as const
  const extra = { ...offer.extra, assetTransferMethod: 'permit2' }
  const scheme = new ExactEvmScheme(privateKeyToAccount(privateKey as `0x${string}`), { rpcUrl })
  const { payload, extensions } = await scheme.createPaymentPayload(
    2,
    { scheme: 'exact', network, amount, asset, payTo, maxTimeoutSeconds, extra },
    { extensions: { eip2612GasSponsoring: { info: {} } } },
  )
  return { ...payload, ...extensions } as Permit2Payload
}

const headerOf = { 1: 'x-payment', 2: 'payment-signature' } as const

/** Lets a public client sign for `url`, and intercepts the payment, so that a test can send it repeatedly. */
export async function signedFor(version: Version, url: string, privateKey: string) {
  const name = headerOf[version]
  const signed: string[] = []
  const intercept: Fetch = async (input, init) => {
    const request = new Request(input, init)
    const payment = request.headers.get(name)
    if (payment === null) return fetch(request)
    signed.push(payment)
    return new Response('kept')
  }
  const paying = await (version === 1 ? payingFetchV1 : payingFetchV2)(privateKey, intercept)
  await paying(url)
  const [payment] = signed
  if (payment === undefined) throw new Error(`The client signed nothing for ${url}`)
  return async (): Promise<Paid> => read(await fetch(url, { headers: { [name]: payment } }), version)
}
