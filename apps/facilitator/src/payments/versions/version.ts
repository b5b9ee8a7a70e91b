import { type Refusal } from '@tollgate/chains'
import { z } from 'zod'
import { type VersionedDeclaration } from '../../catalog/declaration'
import { sha256 } from '../../digest'

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

/** A `/verify` or `/settle` request, independent of the x402 version. */
export type SettlementRequest = {
  network: string
  required: Requirements
  /** What the payer accepted: scheme and network in version 1, all requirements in version 2. */
  accepted: Pick<Requirements, 'scheme' | 'network'> &
    Partial<Pick<Requirements, 'amount' | 'asset' | 'payTo'>>
  payload: unknown
  /** What is paid for, in words of the resource server; null if it names nothing. */
  resource: string | null
  /** Of the extension `payment-identifier`, which the payer chose. */
  paymentIdentifier: string | null
  /** SHA-256 of payload and requirements: it identifies the request. */
  requestHash: Buffer
}

export type WrongVersion = Refusal & { network: string }

/** `spell` names a network in responses. */
export type X402Version = {
  number: 1 | 2
  read(body: unknown): SettlementRequest | WrongVersion
  readDeclarations(body: unknown): readonly VersionedDeclaration[]
  spell(network: string): string
}

export const hashOf = (payload: unknown, requirements: unknown) =>
  sha256(JSON.stringify([payload, requirements]))

/** Postgres allows no NUL in text. */
export const storableName = (name: string | undefined): string | null => name?.replaceAll('\0', '') || null

const Versions = z.object({
  x402Version: z.number().optional(),
  paymentPayload: z.object({ x402Version: z.number() }),
  paymentRequirements: z.object({ x402Version: z.number().optional(), network: z.string() }),
})

/** Checked before the rest of the body, whose schema depends on the version. */
export function checkVersions(body: unknown, accepted: 1 | 2): WrongVersion | undefined {
  const { data } = Versions.safeParse(body)
  if (!data) return undefined
  const { x402Version, paymentPayload, paymentRequirements } = data
  const versions = [x402Version, paymentPayload.x402Version, paymentRequirements.x402Version]
  if (versions.every((version = accepted) => version === accepted)) return undefined
  return {
    reason: 'invalid_x402_version',
    detail: `only version ${accepted} is accepted here`,
    network: paymentRequirements.network,
  }
}
