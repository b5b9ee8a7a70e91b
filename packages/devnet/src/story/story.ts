import { formatAmount, type PricingPlan, type SettleResult } from '@tollgate/protocol'
import { askJson, type JsonAnswer } from '../ask'

/** Where the story happens; `say` prints one line of it. */
export type StoryWorld = {
  gatewayUrl: string
  serviceName: string
  planId: number
  say: (step: string, fact: string) => void
}

/** Whom the story is about: a wallet that holds the price and was never here before. */
export type Hero = {
  address: string
  /** The members of a login that depend on the kind of wallet. */
  signIn(message: string): Promise<{ auth_method: string; signature: string; pubkey?: string }>
  /** Signs what a 402 asks for. */
  pay(plan: PricingPlan, asked: JsonAnswer<{ message: string }>): Promise<{ header: string; signed: string }>
  /** The call that it makes to the plan's chain, and what the answer says. */
  payload: object
  read(answer: unknown): string
  /** Asks the chain, not us, what the payment did; rejects where it is not exactly what was asked for. */
  check(plan: PricingPlan, transaction: string): Promise<string>
}

const CALL_TIMEOUT_MS = 60_000

/**
 * One paid call as it happens: the wallet signs in, is asked to pay, pays on the chain, and is served. Every step is
 * checked, the payment against the chain itself; the first that does not hold rejects.
 */
export async function tellStory(world: StoryWorld, hero: Hero): Promise<void> {
  const { gatewayUrl, planId, say } = world
  say('wallet', `${hero.address} (new, test money only)`)

  const plan = expect(await askJson<{ data: PricingPlan }>(`${gatewayUrl}/pricing/${planId}`), 200).data
  const price = `${formatAmount(BigInt(plan.amount), plan.decimals)} ${plan.display_denom}`
  say('plan', `${plan.plan_name}: ${price} for ${plan.credits} credits, paid to ${plan.pay_to}`)

  const token = await signIn(world, hero, plan)
  const call = {
    headers: { authorization: `Bearer ${token}` },
    body: {
      ecosystem: plan.ecosystem,
      chain_id: plan.chain_id,
      resource: '',
      method: 'POST',
      transport: 'rpc',
      payload: hero.payload,
    },
    timeoutMs: CALL_TIMEOUT_MS,
  }

  const asked = await askJson<{ message: string }>(`${gatewayUrl}/rpc`, call)
  say('402', expect(asked, 402).message)

  const { header, signed } = await hero.pay(plan, asked)
  say('signature', signed)

  const headers = { ...call.headers, 'x-payment': header }
  const served = await askJson(`${gatewayUrl}/rpc`, { ...call, headers })
  const answer = expect(served, 200)
  const receipt = readReceipt(served.headers.get('x-payment-response'))
  const shown = await hero.check(plan, receipt.transaction)
  say('settlement', `${receipt.transaction} in block ${receipt.blockNumber}`)
  say('on chain', shown)
  say('answer', hero.read(answer))

  const credits = expect(
    await askJson<{ pricing_plan_id: number; remaining_credits: number }[]>(
      `${gatewayUrl}/credits/${hero.address}`,
    ),
    200,
  )
  const left = credits.find(({ pricing_plan_id }) => pricing_plan_id === plan.id)?.remaining_credits
  if (left !== plan.credits - 1)
    throw new Error(`The wallet has ${left ?? 'no'} credits left instead of ${plan.credits - 1}`)
  say('credits', `${left} left of ${plan.credits}`)
}

async function signIn({ gatewayUrl, serviceName, say }: StoryWorld, hero: Hero, plan: PricingPlan) {
  const { nonce } = expect(
    await askJson<{ nonce: string }>(`${gatewayUrl}/auth/nonce?address=${hero.address}`),
    200,
  )
  say('nonce', nonce)
  const message = [
    `${serviceName} wants you to sign in.`,
    '',
    `Address: ${hero.address}`,
    `Nonce: ${nonce}`,
    `Issued At: ${new Date().toISOString()}`,
  ].join('\n')
  const login = {
    message,
    address: hero.address,
    x402_chain_id: plan.chain_id,
    x402_ecosystem: plan.ecosystem,
    pricing_plan_id: plan.id,
    ...(await hero.signIn(message)),
  }
  const { token, expires_at } = expect(
    await askJson<{ token: string; expires_at: string }>(`${gatewayUrl}/auth/login`, { body: login }),
    200,
  )
  say('sign-in', `session until ${expires_at}`)
  return token
}

const readReceipt = (header: string | null): SettleResult => {
  if (header === null) throw new Error('The answer has no X-PAYMENT-RESPONSE')
  return JSON.parse(Buffer.from(header, 'base64').toString()) as SettleResult
}

function expect<T>(answer: JsonAnswer<T>, status: number): T {
  if (answer.status === status) return answer.body
  throw new Error(
    `${answer.url} answered ${answer.status} instead of ${status}: ${JSON.stringify(answer.body)}`,
  )
}
