import { Amount, decodeJson } from '@tollgate/protocol'
import { z } from 'zod'
import type { Payment, SignedTransaction } from '../family'
import { parseAddress } from './address'
import { Denom } from './network'
import { type Coin, decodeTx, type Tx } from './tx'

/** A bank send that its payer signed as a whole transaction, which is sent as it is. */
export type CosmosPayment = Payment & {
  transaction: SignedTransaction
  tx: Tx
  /** What the payload says of the transaction, to be compared with it. */
  stated: Stated
}

/** One send takes some 300 bytes, and its memo may have 256 more. */
const MAX_BYTES = 16_384
const MAX_TEXT = 4_096
/** Of keys and signatures in whatever form: those of another than the one that signs are refused, not unreadable. */
const MAX_KEY_BYTES = 128

const base64 = /^[A-Za-z0-9+/]*={0,2}$/

/** Bytes in the one canonical base64 of them. */
const bytes = (max: number) =>
  z
    .string()
    .max(4 * Math.ceil(max / 3))
    .regex(base64)
    .transform((text, context) => {
      const decoded = Buffer.from(text, 'base64')
      if (decoded.length <= max && decoded.toString('base64') === text) return new Uint8Array(decoded)
      context.addIssue({ code: 'custom', message: 'is no canonical base64' })
      return z.NEVER
    })

const Address = z
  .string()
  .max(90)
  .transform((text, context) => {
    const address = parseAddress(text)
    if (address === undefined) context.addIssue({ code: 'custom', message: 'is no bech32 address' })
    return address ?? z.NEVER
  })

/** Wallet libraries hand some of these over as text and some as numbers. */
const Count = z.union([Amount, z.int().min(0)]).transform(BigInt)

const StatedCoin = z.object({ denom: Denom, amount: Amount.transform(BigInt) })

/** `5000`, `5000uatom`, or as wallet libraries write it: `{ amount: [{ denom, amount }], gas }`. */
const Fee = z.union([
  Amount.transform((amount) => ({ amount: BigInt(amount) })),
  z
    .string()
    .max(256)
    .transform((text) => {
      const [, amount, denom] = /^([0-9]+)([^0-9].*)$/.exec(text) ?? []
      return { coins: [{ denom, amount }] }
    })
    .pipe(z.object({ coins: z.array(StatedCoin) })),
  z
    .object({ amount: z.array(StatedCoin).max(8), gas: Count.nullish() })
    .transform(({ amount: coins, gas }) => ({ coins, gas })),
])
type StatedFee = { amount?: bigint; coins?: readonly Coin[]; gas?: bigint | null | undefined }

const Payload = z.object({
  /** Of the payload's own form, which has but one: any is taken. */
  version: z.union([z.number(), z.string().max(16)]).optional(),
  chainId: z.string().min(1).max(64),
  payment: z.object({
    amount: Amount.transform(BigInt),
    denom: Denom,
    payer: Address,
    recipient: Address,
    txBase64: bytes(MAX_BYTES),
    publicKey: bytes(MAX_KEY_BYTES),
    fee: Fee.nullish(),
    gas: Count.nullish(),
    memo: z.string().max(MAX_TEXT).nullish(),
    sequence: Count.nullish(),
    accountNumber: Count.nullish(),
  }),
  signature: bytes(MAX_KEY_BYTES).nullish(),
})
type Payload = z.infer<typeof Payload>
type Stated = Pick<Payload, 'chainId' | 'signature'> &
  Omit<Payload['payment'], 'txBase64' | 'fee'> & { fee?: StatedFee | null | undefined }

/**
 * Reads `{ version, chainId, payment: { amount, denom, payer, recipient, txBase64, publicKey, ... }, signature? }`, as an object,
 * or as base64 or base64url of its JSON. Undefined where a member cannot be read, or `txBase64` is no transaction; whatever
 * else is wrong with the transaction is for `verify` to say.
 */
export function readPayment(payload: unknown): CosmosPayment | undefined {
  const { data } = Payload.safeParse(typeof payload === 'string' ? decodeJson(payload) : payload)
  const tx = data && decodeTx(data.payment.txBase64)
  if (data === undefined || tx === undefined) return undefined
  const { chainId, signature, payment } = data
  const { txBase64, ...stated } = payment
  const only = tx.send?.coins.length === 1 ? tx.send : undefined
  return {
    payer: stated.payer,
    payTo: only?.to ?? stated.recipient,
    amount: only?.coins[0]?.amount ?? stated.amount,
    // Deduplicated by what the chain takes once (its signer's sequence), not by bytes that a stranger may change.
    nonce: `sequence ${tx.signers[0]?.sequence ?? 0n}`,
    transaction: { raw: Buffer.from(txBase64).toString('base64'), hash: tx.hash },
    tx,
    stated: { ...stated, chainId, signature },
  }
}
