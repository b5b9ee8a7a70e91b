import * as v from 'valibot'
import { describeAmount, parseAssetAmount, type AssetAmount } from './assets/asset-amount.js'
import { TollgateError } from './errors.js'

/** `'0.01 USDC'` of a known asset, or smallest units: `10000n` or `'10000'` is 0.01 USDC. */
export type Units = bigint | string

export type AssetLimit = {
  /** As CAIP-2: `eip155:84532`, `cosmos:cosmoshub-4`. */
  network: string
  /** The token's address, or the denomination. */
  asset: string
  perPayment: Units
  /** Of an account in all tabs and processes that share the storage, from midnight to midnight, UTC. */
  perDay?: Units
  /** From `createTollgate` to `close`. */
  perSession?: Units
}

/** A payment before it is signed. */
export type ProposedPayment = {
  url: string
  network: string
  asset: string
  payTo: string
  /** In the asset's smallest unit. */
  amount: bigint
  /** What the payer bears beside it, of an asset of the same network. */
  fee?: { asset: string; amount: bigint }
}

/** What may be paid. Whatever is not listed is refused. */
export type Limits = {
  assets: readonly AssetLimit[]
  /** Whom to pay; absent: everyone. */
  recipients?: readonly string[]
  /** Asked last, before each signature; whatever is not `true` refuses the payment. `price` is `amount` of a known asset in decimals. */
  approve?(payment: ProposedPayment & { price?: AssetAmount }): boolean | Promise<boolean>
}

/** What was signed earlier, of the same asset. */
type Spent = { today: bigint; inSession: bigint }

/** Why a payment is not allowed; `limit` is the name of what forbids it. */
export type Breach = {
  limit: 'assets' | 'recipients' | 'perPayment' | 'perDay' | 'perSession' | 'listedPrice'
  message: string
}

/** Of a payment, or of a fee, which has no recipient. */
type Terms = Pick<ProposedPayment, 'network' | 'asset' | 'amount'> & { payTo?: string }

export function findBreach(limits: Limits, payment: Terms, spent: Spent): Breach | undefined {
  const { network, asset, payTo, amount } = payment
  const limit = limits.assets.find((candidate) => isSameAsset(candidate, payment))
  if (!limit)
    return { limit: 'assets', message: `${asset} on ${network} is not among the assets that may be paid` }
  const { recipients } = limits
  if (payTo !== undefined && recipients && !recipients.some((recipient) => isSameAddress(recipient, payTo)))
    return { limit: 'recipients', message: `${payTo} is not among the recipients that may be paid` }

  const exceeds = (name: 'perPayment' | 'perDay' | 'perSession', total: bigint): Breach | undefined => {
    const written = limit[name]
    if (written === undefined) return undefined
    const most = unitsOf(written, limit)
    if (total <= most) return undefined
    const before = total - amount
    const earlier = before > 0n ? `, after ${describeAmount(before, payment)} before,` : ''
    return {
      limit: name,
      message: `A payment of ${describeAmount(amount, payment)}${earlier} exceeds the limit ${name} of ${describeAmount(most, payment)}`,
    }
  }
  return (
    exceeds('perPayment', amount) ??
    exceeds('perDay', spent.today + amount) ??
    exceeds('perSession', spent.inSession + amount)
  )
}

/** What a gateway lists as the price, which binds it whatever the limits allow. */
export type ListedPrice = Pick<ProposedPayment, 'network' | 'asset' | 'amount'>

export function findPriceBreach(listed: ListedPrice, { network, asset, amount }: Terms): Breach | undefined {
  if (isSameAsset(listed, { network, asset }) && amount <= listed.amount) return undefined
  return {
    limit: 'listedPrice',
    message: `The gateway asks for ${describeAmount(amount, { network, asset })}, and lists ${describeAmount(listed.amount, listed)}; nothing was signed`,
  }
}

const isDigits = (units: Units) => /^[0-9]{1,78}$/.test(String(units))

/** The smallest units of a limit that `assertLimits` took. */
export function unitsOf(written: Units, asset: Asset): bigint {
  return isDigits(written) ? BigInt(written) : (parseAssetAmount(String(written), asset) ?? 0n)
}

const NO_UNITS = 'must be smallest units, as bigint or digits, or an amount of a known asset, as 0.01 USDC'
const UnitsSchema = v.union([v.bigint(), v.string()], NO_UNITS)
const isAmountOf = (asset: Asset, written: Units | undefined) =>
  written === undefined || isDigits(written) || parseAssetAmount(String(written), asset) !== undefined
const NETWORK = /^[-a-z0-9]{3,8}:[-_a-zA-Z0-9]{1,32}$/
const LimitsSchema = v.strictObject({
  assets: v.array(
    v.pipe(
      v.strictObject({
        network: v.pipe(v.string(), v.regex(NETWORK, 'must be as CAIP-2 has it, such as eip155:84532')),
        asset: v.pipe(v.string(), v.minLength(1, 'must be the address of a token, or a denomination')),
        perPayment: UnitsSchema,
        perDay: v.optional(UnitsSchema),
        perSession: v.optional(UnitsSchema),
      }),
      v.forward(
        v.check(
          ({ network, asset }) => !network.startsWith('eip155:') || isAddress(asset),
          'must be the address of the token: 0x and 40 hexadecimal digits',
        ),
        ['asset'],
      ),
      v.forward(
        v.check((limit) => isAmountOf(limit, limit.perPayment), NO_UNITS),
        ['perPayment'],
      ),
      v.forward(
        v.check((limit) => isAmountOf(limit, limit.perDay), NO_UNITS),
        ['perDay'],
      ),
      v.forward(
        v.check((limit) => isAmountOf(limit, limit.perSession), NO_UNITS),
        ['perSession'],
      ),
    ),
  ),
  recipients: v.optional(v.array(v.pipe(v.string(), v.minLength(1, 'must be an address')))),
  approve: v.optional(v.function()),
})

/** @throws TollgateError INVALID_ARGUMENT naming the member that is wrong */
export function assertLimits(limits: unknown): asserts limits is Limits {
  const parsed = v.safeParse(LimitsSchema, limits)
  if (parsed.success) return
  const [issue] = parsed.issues
  const path = ['limits', v.getDotPath(issue)]
    .filter(Boolean)
    .join('.')
    .replaceAll(/\.(\d+)(?=\.|$)/g, '[$1]')
  throw new TollgateError('INVALID_ARGUMENT', `${path}: ${issue.message}`)
}

type Asset = Pick<AssetLimit, 'network' | 'asset'>

/** Addresses of EVM are compared in any letter case, denominations exactly. */
export const isSameAsset = (one: Asset, other: Asset) =>
  one.network === other.network && isSameAddress(one.asset, other.asset)

const isAddress = (text: string) => /^0x[0-9a-f]{40}$/i.test(text)

const isSameAddress = (one: string, other: string) =>
  one === other || (isAddress(one) && one.toLowerCase() === other.toLowerCase())
