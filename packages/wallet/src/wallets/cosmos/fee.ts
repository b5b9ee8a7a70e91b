import { TollgateError } from '../../errors.js'
import { type Fee } from './signer.js'

/** A bank send uses 65,000 to 110,000 on the chains of the Cosmos SDK. */
const SEND_GAS = 150_000n
/** The chain uses this much to charge the allowance of a fee granter, or to check the signature of a fee payer. */
const ALLOWANCE_GAS = 30_000n

/** In smallest units, if no `gasPrice` allows more: 0.1 of a denomination with six decimals. */
const MAX_FEE = 100_000n

const PRICE_DECIMALS = 18

/** `price` of a unit of gas is in 10^-18 of the smallest unit, like the SDK's. */
export type GasPrice = { denom: string; price: bigint }

const priceText = /^([0-9]{1,40})(?:\.([0-9]{1,18}))?([a-zA-Z][a-zA-Z0-9/:._-]{2,127})$/

/** Of `0.025uatom`; undefined if the text is no price. */
export function parseGasPrice(text: string): GasPrice | undefined {
  const [, whole, fraction = '', denom] = priceText.exec(text.trim()) ?? []
  if (whole === undefined || denom === undefined) return undefined
  return { denom, price: BigInt(whole + fraction.padEnd(PRICE_DECIMALS, '0')) }
}

/** Of the alternatives that a node takes, the chain's own denomination, which gateways ask for, before those of other chains. */
export function choosePrice(minimumGasPrices: string): GasPrice | undefined {
  const prices = minimumGasPrices
    .split(',')
    .map(parseGasPrice)
    .filter((price) => price !== undefined && price.price > 0n)
  return prices.find((price) => price?.denom.includes('/') === false) ?? prices[0]
}

/** Who pays the fee in place of the payer: a granter of an allowance, or a fee payer that signs too. */
export type Sponsor = Pick<Fee, 'granter' | 'payer'>

/** The fee of one bank send. A sponsor pays it, if there is one: the payer's account is not charged. */
export function feeFor({ denom, price }: GasPrice, sponsor?: Sponsor): Fee {
  // A transaction without a fee has nothing to pay.
  const isSponsored = sponsor !== undefined && price > 0n
  const gas = SEND_GAS + (isSponsored ? ALLOWANCE_GAS : 0n)
  const unit = 10n ** BigInt(PRICE_DECIMALS)
  const amount = (gas * price + unit - 1n) / unit
  return {
    amount: amount > 0n ? [{ denom, amount: `${amount}` }] : [],
    gas: `${gas}`,
    ...(isSponsored && sponsor),
  }
}

/** A node's price is no reason to spend any sum. @throws TollgateError LIMIT_REACHED */
export function assertFeeModest(fee: Fee): void {
  const [coin] = fee.amount
  if (coin === undefined || isSponsored(fee) || BigInt(coin.amount) <= MAX_FEE) return
  throw new TollgateError(
    'LIMIT_REACHED',
    `The node asks a fee of ${coin.amount}${coin.denom}, more than ${MAX_FEE}: to pay it, give \`gasPrice\` with the wallet`,
  )
}

export const isSponsored = ({ granter, payer }: Sponsor): boolean =>
  granter !== undefined || payer !== undefined
