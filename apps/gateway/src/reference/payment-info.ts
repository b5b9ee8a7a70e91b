import { type Catalog, type Plan } from '../catalog/catalog'
import { decimalText, getCallPrices, pricePerCredit, type CallPrices } from '../catalog/call-prices'

/** The OpenAPI extension `x-payment-info` as crawlers of x402 read it: `price` and `protocols`. The other members are ours. */
export type PaymentInfo = {
  /** Of one payment, as the 402 asks for it, in decimal units of the currency. */
  price: { currency: string } & (
    | { mode: 'fixed'; amount: string }
    | { mode: 'dynamic'; min: string; max: string }
  )
  protocols: { x402: object }[]
  plans: {
    pricing_plan_id: number
    network: string
    price: string
    display_denom: string
    credits: number
    price_per_credit: string
  }[]
  calls: CallPrices[]
}

/** Undefined if nothing is sold. */
function paymentInfoOf(plans: readonly Plan[], calls: CallPrices[]): PaymentInfo | undefined {
  const price = priceOf(plans)
  if (!price) return undefined
  return {
    price,
    protocols: [{ x402: {} }],
    plans: plans.map((plan) => ({
      pricing_plan_id: plan.id,
      network: plan.network,
      price: decimalText(plan.amount, plan.decimals),
      display_denom: plan.displayDenom,
      credits: plan.credits,
      price_per_credit: pricePerCredit(plan),
    })),
    calls,
  }
}

/** Crawlers compare prices in `USD`, so the plans in dollar tokens count, and those of the first plan's asset if there are none. */
function priceOf(plans: readonly Plan[]): PaymentInfo['price'] | undefined {
  const [first] = plans
  if (!first) return undefined
  const inDollars = plans.filter(({ displayDenom }) => DOLLAR_TOKENS.has(displayDenom.toUpperCase()))
  const currency = inDollars.length > 0 ? 'USD' : first.displayDenom
  const counted =
    inDollars.length > 0 ? inDollars : plans.filter(({ displayDenom }) => displayDenom === currency)
  const [min = '', max = ''] = extremesOf(counted)
  return min === max ? { mode: 'fixed', currency, amount: min } : { mode: 'dynamic', currency, min, max }
}

const DOLLAR_TOKENS: ReadonlySet<string> = new Set(['USD', 'USDC', 'USDT', 'USDBC', 'PYUSD', 'DAI'])

function extremesOf(plans: readonly Plan[]): string[] {
  const decimals = Math.max(...plans.map((plan) => plan.decimals))
  const amounts = plans.map((plan) => plan.amount * 10n ** BigInt(decimals - plan.decimals))
  const sorted = amounts.toSorted((one, other) => (one < other ? -1 : one > other ? 1 : 0))
  return [sorted.at(0), sorted.at(-1)].map((amount = 0n) => decimalText(amount, decimals))
}

/** Undefined while the catalog cannot be read: the document is served without prices then. */
export const readPaymentInfo = async (
  catalog: Pick<Catalog, 'getActivePlans' | 'readProviders'>,
): Promise<PaymentInfo | undefined> => {
  try {
    return paymentInfoOf(await catalog.getActivePlans(), await getCallPrices(catalog))
  } catch {
    return undefined
  }
}
