import { inspect } from 'node:util'
import { createFacilitatorClient, type Facilitator, type FacilitatorClientOptions } from '../client'
import { FacilitatorError } from '../errors'
import { closeLater } from './servers'

export const clientId = 'client_of_a_test'
export const clientToken = 'c2VjcmV0LW9mLXRoZS10ZXN0LWFuZC1vZi1ub2JvZHktZWxzZQ'

export function clientOf(url: string, options: Partial<FacilitatorClientOptions> = {}) {
  const client = createFacilitatorClient({ url: `${url}/api/v1`, clientId, clientToken, ...options })
  closeLater(() => client.close())
  return client
}

export const request = {
  x402Version: 1,
  paymentPayload: { x402Version: 1, scheme: 'exact', network: 'base-sepolia', payload: 'c2lnbmVk' },
  paymentRequirements: {
    scheme: 'exact',
    network: 'base-sepolia',
    maxAmountRequired: '10000',
    resource: 'https://shop.example/weather',
    description: '',
    mimeType: '',
    payTo: '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC',
    maxTimeoutSeconds: 60,
    asset: '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
  },
}

export const verified = {
  isValid: true,
  invalidReason: '',
  payer: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
  timestamp: 1_768_478_400,
  cachedResult: false,
}

export const settled = {
  success: true,
  transaction: `0x${'ab'.repeat(32)}`,
  errorReason: '',
  network: 'base-sepolia',
  payer: verified.payer,
  blockNumber: 7,
  timestamp: '2026-01-15T12:00:00.000Z',
}

export const kind = {
  x402Version: 1,
  scheme: 'exact',
  network: 'base-sepolia',
  status: 'active',
  block: 7,
  feePayer: '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC',
}

export const asset = {
  id: 1,
  network: 'base-sepolia',
  asset: '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
  symbol: 'USDC',
  decimals: 6,
  active: true,
}

export const calls = {
  verify: (client: Facilitator) => client.verify(request),
  settle: (client: Facilitator) => client.settle(request, { idempotencyKey: 'order-1' }),
  supported: (client: Facilitator) => client.supported(),
  networks: (client: Facilitator) => client.networks(),
  assets: (client: Facilitator) => client.assets(),
}
export type Call = keyof typeof calls

export const everyCall = Object.keys(calls) as Call[]
export const harmlessCalls = everyCall.filter((call) => call !== 'settle')

/** Asserts that the call rejects with a FacilitatorError that does not contain the client key. */
export async function failureOf(result: Promise<unknown>): Promise<FacilitatorError> {
  const error: unknown = await result.then(
    (value) => {
      throw new Error(`It brought ${JSON.stringify(value)}`)
    },
    (thrown: unknown) => thrown,
  )
  if (!(error instanceof FacilitatorError)) throw error
  const shown = [
    inspect(error, { depth: 20, showHidden: true, getters: true }),
    JSON.stringify(error),
    error.stack,
  ]
  expect(shown.join('\n')).not.toContain(clientToken)
  return error
}
