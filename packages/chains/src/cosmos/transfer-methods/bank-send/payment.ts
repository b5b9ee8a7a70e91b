import { Amount, decodeJson } from '@tollgate/protocol'
import { z } from 'zod'
import type { Payment } from '../../../family'
import { parseAddress } from '../../address'
import { Denom } from '../../network'
import { type Coin, decodeTx, type Tx } from '../../signing/tx'

/** A signed transaction with one bank send, which is broadcast unchanged, or with our signature added. */
export type CosmosPayment = Payment & {
  tx: Tx
  /** The payload's own statements about the transaction, which must match it. */
  unsignedFields: UnsignedFields
}

/** One send takes some 300 bytes, and its memo may have 256 more. */
const MAX_BYTES = 16_384
const MAX_TEXT = 4_096
/** Also reads keys and signatures of unsupported types, so that the checks can refuse them. */
const MAX_KEY_BYTES = 128

const base64 = /^[A-Za-z0-9+/]*={0,2}$/

/** Canonical base64 only. */
const bytes = (max: number) =>
  z
    .string()
    .max(4 * Math.ceil(max / 3))
    .regex(base64)
    .transform((text, context) => {
      const decoded = Buffer.from(text, 'base64')
      if (decoded.length <= max && decoded.toString('base64') === text) return new Uint8Array(decoded)
      context.addIssue({ code: 'custom', message: 'is not canonical base64' })
      return z.NEVER
    })

const Address = z
  .string()
  .max(90)
  .transform((text, context) => {
    const address = parseAddress(text)
    if (address === undefined) context.addIssue({ code: 'custom', message: 'is not a bech32 address' })
    return address ?? z.NEVER
  })

/** Wallet libraries use both text and numbers. */
const Count = z.union([Amount, z.int().min(0)]).transform(BigInt)

const UnsignedCoin = z.object({ denom: Denom, amount: Amount.transform(BigInt) })

/** `5000`, `5000uatom`, or the form of wallet libraries: `{ amount: [{ denom, amount }], gas }`. */
const Fee = z.union([
  Amount.transform((amount) => ({ amount: BigInt(amount) })),
  z
    .string()
    .max(256)
    .transform((text) => {
      const [, amount, denom] = /^([0-9]+)([^0-9].*)$/.exec(text) ?? []
      return { coins: [{ denom, amount }] }
    })
    .pipe(z.object({ coins: z.array(UnsignedCoin) })),
  z
    .object({ amount: z.array(UnsignedCoin).max(8), gas: Count.nullish() })
    .transform(({ amount: coins, gas }) => ({ coins, gas })),
])
type UnsignedFee = { amount?: bigint; coins?: readonly Coin[]; gas?: bigint | null | undefined }

const Payload = z.object({
  /** Ignored: there is only one version. */
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
type UnsignedFields = Pick<Payload, 'chainId' | 'signature'> &
  Omit<Payload['payment'], 'txBase64' | 'fee'> & { fee?: UnsignedFee | null | undefined }

/**
 * Parses `{ version, chainId, payment: { amount, denom, payer, recipient, txBase64, publicKey, ... }, signature? }`, as an
 * object or as base64(url) of its JSON. Undefined if a member is malformed or `txBase64` is not a transaction.
 */
export function readPayment(payload: unknown): CosmosPayment | undefined {
  const { data } = Payload.safeParse(typeof payload === 'string' ? decodeJson(payload) : payload)
  const tx = data && decodeTx(data.payment.txBase64)
  if (data === undefined || tx === undefined) return undefined
  const { chainId, signature, payment } = data
  const { txBase64, ...unsignedFields } = payment
  const only = tx.send?.coins.length === 1 ? tx.send : undefined
  return {
    payer: unsignedFields.payer,
    payTo: only?.to ?? unsignedFields.recipient,
    amount: only?.coins[0]?.amount ?? unsignedFields.amount,
    // The chain uses a sequence once, while a third party can change the bytes of the transaction.
    nonce: `sequence ${tx.signers[0]?.sequence ?? 0n}`,
    ...whoSigns(unsignedFields.payer, tx),
    tx,
    unsignedFields: { ...unsignedFields, chainId, signature },
  }
}

/** Another fee payer must sign too. That it is our signer is checked with the network. */
function whoSigns(payer: string, tx: Tx): Pick<Payment, 'transaction' | 'countersigned'> {
  const { fee, bytes, hash } = tx
  if (fee.payer === '' || parseAddress(fee.payer) === payer)
    return { transaction: { raw: Buffer.from(bytes).toString('base64'), hash } }
  return { countersigned: { fee: fee.coins.reduce((sum, { amount }) => sum + amount, 0n) } }
}
