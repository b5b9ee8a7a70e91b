import { type Check, refuse } from '../checks'
import type { CosmosPayment } from './payment'
import type { Coin } from './tx'

/** What a payload says beside its transaction is what a resource server may show its customer. */
export const checkStated: Check<{ payment: CosmosPayment }> = ({ payment: { tx, stated } }) => {
  const { fee } = stated
  const differs = <T>(said: T | null | undefined, signed: T | undefined) => said != null && said !== signed
  const member =
    (differs(stated.amount, tx.send?.coins[0]?.amount) && 'amount') ||
    (differs(stated.denom, tx.send?.coins[0]?.denom) && 'denom') ||
    (differs(stated.recipient, tx.send?.to) && 'recipient') ||
    (!isSame(stated.publicKey, tx.signers[0]?.publicKey?.bytes) && 'publicKey') ||
    (stated.signature != null && !isSame(stated.signature, tx.signatures[0]) && 'signature') ||
    (differs(fee?.amount, onlyAmount(tx.fee.coins)) && 'fee') ||
    (fee?.coins !== undefined && !isSameCoins(fee.coins, tx.fee.coins) && 'fee') ||
    ((differs(fee?.gas, tx.fee.gas) || differs(stated.gas, tx.fee.gas)) && 'gas') ||
    (differs(stated.memo, tx.memo) && 'memo') ||
    (differs(stated.sequence, tx.signers[0]?.sequence) && 'sequence')
  return member ? refuse('invalid_payload', `the ${member} is not that of the transaction`) : undefined
}

/** Of a fee that is said in one number: undefined where it is in several coins. */
const onlyAmount = (coins: readonly Coin[]): bigint | undefined =>
  coins.length > 1 ? undefined : (coins[0]?.amount ?? 0n)

export const isSame = (one: Uint8Array, other: Uint8Array | undefined): boolean =>
  other !== undefined && Buffer.compare(one, other) === 0

const isSameCoins = (some: readonly Coin[], others: readonly Coin[]): boolean =>
  some.length === others.length &&
  some.every(({ denom, amount }, i) => denom === others[i]?.denom && amount === others[i].amount)
