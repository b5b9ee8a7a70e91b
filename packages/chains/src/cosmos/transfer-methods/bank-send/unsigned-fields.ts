import { type Check, refuse } from '../../../checks'
import type { CosmosPayment } from './payment'
import type { Coin } from '../../signing/tx'

/** A resource server may show these fields to its customer, so they must match the transaction. */
export const checkUnsignedFields: Check<{ payment: CosmosPayment }> = ({
  payment: { tx, unsignedFields },
}) => {
  const { fee } = unsignedFields
  const differs = <T>(stated: T | null | undefined, signed: T | undefined) =>
    stated != null && stated !== signed
  const member =
    (differs(unsignedFields.amount, tx.send?.coins[0]?.amount) && 'amount') ||
    (differs(unsignedFields.denom, tx.send?.coins[0]?.denom) && 'denom') ||
    (differs(unsignedFields.recipient, tx.send?.to) && 'recipient') ||
    (!isSame(unsignedFields.publicKey, tx.signers[0]?.publicKey?.bytes) && 'publicKey') ||
    (unsignedFields.signature != null &&
      !isSame(unsignedFields.signature, tx.signatures[0]) &&
      'signature') ||
    (differs(fee?.amount, onlyAmount(tx.fee.coins)) && 'fee') ||
    (fee?.coins !== undefined && !isSameCoins(fee.coins, tx.fee.coins) && 'fee') ||
    ((differs(fee?.gas, tx.fee.gas) || differs(unsignedFields.gas, tx.fee.gas)) && 'gas') ||
    (differs(unsignedFields.memo, tx.memo) && 'memo') ||
    (differs(unsignedFields.sequence, tx.signers[0]?.sequence) && 'sequence')
  return member ? refuse('invalid_payload', `the ${member} is not that of the transaction`) : undefined
}

/** The amount of a fee of at most one coin; undefined for several coins. */
const onlyAmount = (coins: readonly Coin[]): bigint | undefined =>
  coins.length > 1 ? undefined : (coins[0]?.amount ?? 0n)

export const isSame = (one: Uint8Array, other: Uint8Array | undefined): boolean =>
  other !== undefined && Buffer.compare(one, other) === 0

const isSameCoins = (some: readonly Coin[], others: readonly Coin[]): boolean =>
  some.length === others.length &&
  some.every(({ denom, amount }, i) => denom === others[i]?.denom && amount === others[i].amount)
