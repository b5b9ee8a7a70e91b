import { type Refusal } from '@tollgate/chains'
import { z } from 'zod'
import { sha256 } from '../digest'

/** The payment requirements, independent of the x402 version. `amount` as on the wire. */
type Requirements = {
  scheme: string
  network: string
  amount: string
  asset: string
  payTo: string
  maxTimeoutSeconds: number
  extra?: Readonly<Record<string, unknown>>
}

/** What `/verify` and `/settle` are asked, whichever version of x402 it was said in. */
export type Asked = {
  network: string
  required: Requirements
  /** What the payer states that it accepted: scheme and network in version 1, all of it in version 2. */
  accepted: Pick<Requirements, 'scheme' | 'network'> &
    Partial<Pick<Requirements, 'amount' | 'asset' | 'payTo'>>
  payload: unknown
  /** SHA-256 of the whole payload and requirements: two requests with equal hashes are the same request. */
  requestHash: Buffer
}

/** The refusal of a request in another x402 version, with the network that it names. */
export type WrongVersion = Refusal & { network: string }

/** How a version of x402 asks, and how it names a network of ours in its answers. */
export type Dialect = {
  read(body: unknown): Asked | WrongVersion
  spell(network: string): string
}

export const hashOf = (payload: unknown, requirements: unknown) =>
  sha256(JSON.stringify([payload, requirements]))

const Versions = z.object({
  x402Version: z.number().optional(),
  paymentPayload: z.object({ x402Version: z.number() }),
  paymentRequirements: z.object({ x402Version: z.number().optional(), network: z.string() }),
})

/** The refusal of a request in another version than `taken`: it comes before the shape, which its version decides. */
export function checkVersions(body: unknown, taken: 1 | 2): WrongVersion | undefined {
  const { data } = Versions.safeParse(body)
  if (!data) return undefined
  const { x402Version, paymentPayload, paymentRequirements } = data
  const versions = [x402Version, paymentPayload.x402Version, paymentRequirements.x402Version]
  if (versions.every((version = taken) => version === taken)) return undefined
  return {
    reason: 'invalid_x402_version',
    detail: `only version ${taken} is taken here`,
    network: paymentRequirements.network,
  }
}
