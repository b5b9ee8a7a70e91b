/** In the asset's smallest unit: `10000n` or `'10000'` is 0.01 USDC. */
export type Units = bigint | string

export type AssetLimit = {
  /** As CAIP-2: `eip155:84532`, `cosmos:cosmoshub-4`. */
  network: string
  /** The token's address, or the denomination. */
  asset: string
  perPayment: Units
  /** Of all tabs and processes that share the storage, from midnight to midnight, UTC. */
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
}

/** What may be paid. Whatever is not listed is refused. */
export type Limits = {
  assets: readonly AssetLimit[]
  /** Whom to pay; absent: everyone. */
  recipients?: readonly string[]
  /** Asked last, before each signature; false refuses the payment. */
  approve?(payment: ProposedPayment): boolean | Promise<boolean>
}

/** What was signed earlier, of the same asset. */
type Spent = { today: bigint; inSession: bigint }

/** Why a payment is not allowed; `limit` is the name of what forbids it. */
export type Breach = {
  limit: 'assets' | 'recipients' | 'perPayment' | 'perDay' | 'perSession'
  message: string
}

type Terms = Pick<ProposedPayment, 'network' | 'asset' | 'payTo' | 'amount'>

export function findBreach(limits: Limits, payment: Terms, spent: Spent): Breach | undefined {
  const { network, asset, payTo, amount } = payment
  const limit = limits.assets.find((candidate) => isSameAsset(candidate, payment))
  if (!limit)
    return { limit: 'assets', message: `${asset} on ${network} is not among the assets that may be paid` }
  const { recipients } = limits
  if (recipients && !recipients.some((recipient) => isSameAddress(recipient, payTo)))
    return { limit: 'recipients', message: `${payTo} is not among the recipients that may be paid` }

  const exceeds = (name: 'perPayment' | 'perDay' | 'perSession', total: bigint): Breach | undefined => {
    const most = limit[name]
    if (most === undefined || total <= BigInt(most)) return undefined
    const before = total - amount
    const earlier = before > 0n ? `, after ${before} before,` : ''
    return {
      limit: name,
      message: `A payment of ${amount}${earlier} exceeds the limit ${name} of ${most} for ${asset} on ${network}`,
    }
  }
  return (
    exceeds('perPayment', amount) ??
    exceeds('perDay', spent.today + amount) ??
    exceeds('perSession', spent.inSession + amount)
  )
}

/** @throws RangeError naming the member that is wrong */
export function assertLimits({ assets }: Limits): void {
  for (const [index, limit] of assets.entries())
    for (const name of ['perPayment', 'perDay', 'perSession'] as const) {
      const units = limit[name]
      if (units === undefined && name !== 'perPayment') continue
      if (!/^[0-9]{1,78}$/.test(String(units)))
        throw new RangeError(
          `limits.assets[${index}].${name} must be a whole number of smallest units, as bigint or digits`,
        )
    }
}

type Asset = Pick<AssetLimit, 'network' | 'asset'>

/** Addresses of EVM are compared in any letter case, denominations exactly. */
export const isSameAsset = (one: Asset, other: Asset) =>
  one.network === other.network && isSameAddress(one.asset, other.asset)

const isSameAddress = (one: string, other: string) =>
  one === other || (/^0x[0-9a-f]{40}$/i.test(one) && one.toLowerCase() === other.toLowerCase())
