import { formatAmount, type PricingPlan, type SettleResult } from '@tollgate/protocol'
import { fetchJson, type JsonResponse } from '../fetch-json'

export type DemoContext = {
  gatewayUrl: string
  serviceName: string
  planId: number
  print: (step: string, fact: string) => void
}

/** A new wallet that holds the price of the plan. */
export type DemoWallet = {
  address: string
  /** The members of a login that depend on the kind of wallet. */
  signIn(message: string): Promise<{ auth_method: string; signature: string; pubkey?: string }>
  /** Signs the payment of a 402 response. */
  pay(
    plan: PricingPlan,
    paymentRequired: JsonResponse<{ message: string }>,
  ): Promise<{ header: string; signed: string }>
  /** The JSON-RPC request to the plan's chain. */
  payload: object
  formatResult(body: unknown): string
  /** Checks the payment against the chain itself; rejects if it is not exactly the price. */
  check(plan: PricingPlan, transaction: string): Promise<string>
}

const CALL_TIMEOUT_MS = 60_000

/** One paid call: the wallet signs in, gets a 402, pays and is served. Rejects at the first step that fails. */
export async function runDemo(context: DemoContext, wallet: DemoWallet): Promise<void> {
  const { gatewayUrl, planId, print } = context
  print('wallet', `${wallet.address} (new, test money only)`)

  const plan = expect(await fetchJson<{ data: PricingPlan }>(`${gatewayUrl}/pricing/${planId}`), 200).data
  const price = `${formatAmount(BigInt(plan.amount), plan.decimals)} ${plan.display_denom}`
  print('plan', `${plan.plan_name}: ${price} for ${plan.credits} credits, paid to ${plan.pay_to}`)

  const token = await signIn(context, wallet, plan)
  const call = {
    headers: { authorization: `Bearer ${token}` },
    body: {
      ecosystem: plan.ecosystem,
      chain_id: plan.chain_id,
      resource: '',
      method: 'POST',
      transport: 'rpc',
      payload: wallet.payload,
    },
    timeoutMs: CALL_TIMEOUT_MS,
  }

  const ask = () => fetchJson<{ message: string }>(`${gatewayUrl}/rpc`, call)
  let paymentRequired = await ask()
  let freeCalls = 0
  for (; paymentRequired.status === 200; freeCalls++) paymentRequired = await ask()
  if (freeCalls > 0) print('free calls', `${freeCalls} served without a payment`)
  print('402', expect(paymentRequired, 402).message)

  const { header, signed } = await wallet.pay(plan, paymentRequired)
  print('signature', signed)

  const headers = { ...call.headers, 'x-payment': header }
  const response = await fetchJson(`${gatewayUrl}/rpc`, { ...call, headers })
  const body = expect(response, 200)
  const receipt = readReceipt(response.headers.get('x-payment-response'))
  const transfer = await wallet.check(plan, receipt.transaction)
  print('settlement', `${receipt.transaction} in block ${receipt.blockNumber}`)
  print('on chain', transfer)
  print('answer', wallet.formatResult(body))

  const credits = expect(
    await fetchJson<{ pricing_plan_id: number; remaining_credits: number }[]>(
      `${gatewayUrl}/credits/${wallet.address}`,
    ),
    200,
  )
  const remaining = credits.find(({ pricing_plan_id }) => pricing_plan_id === plan.id)?.remaining_credits
  if (remaining !== plan.credits - 1)
    throw new Error(`The wallet has ${remaining ?? 'no'} credits left instead of ${plan.credits - 1}`)
  print('credits', `${remaining} left of ${plan.credits}`)
}

async function signIn(
  { gatewayUrl, serviceName, print }: DemoContext,
  wallet: DemoWallet,
  plan: PricingPlan,
) {
  const { nonce } = expect(
    await fetchJson<{ nonce: string }>(`${gatewayUrl}/auth/nonce?address=${wallet.address}`),
    200,
  )
  print('nonce', nonce)
  const message = [
    `${serviceName} wants you to sign in.`,
    '',
    `Address: ${wallet.address}`,
    `Nonce: ${nonce}`,
    `Issued At: ${new Date().toISOString()}`,
  ].join('\n')
  const login = {
    message,
    address: wallet.address,
    x402_chain_id: plan.chain_id,
    x402_ecosystem: plan.ecosystem,
    pricing_plan_id: plan.id,
    ...(await wallet.signIn(message)),
  }
  const { token, expires_at } = expect(
    await fetchJson<{ token: string; expires_at: string }>(`${gatewayUrl}/auth/login`, { body: login }),
    200,
  )
  print('sign-in', `session until ${expires_at}`)
  return token
}

const readReceipt = (header: string | null): SettleResult => {
  if (header === null) throw new Error('The response has no X-PAYMENT-RESPONSE')
  return JSON.parse(Buffer.from(header, 'base64').toString()) as SettleResult
}

function expect<T>(response: JsonResponse<T>, status: number): T {
  if (response.status === status) return response.body
  throw new Error(
    `${response.url} returned ${response.status} instead of ${status}: ${JSON.stringify(response.body)}`,
  )
}
