import { randomBytes } from 'node:crypto'
import { developmentWallets } from '@tollgate/devnet'
import { Wallet } from 'ethers'
import { type Benchmark, type Comparison } from '../benchmark'
import { createPaymentSigner } from '../payment-signer'
import { tally } from '../table'
import { openWorld, type World } from '../world'

/** A tenth of the defaults. */
const limits: Record<string, Record<string, string>> = {
  facilitator: { RATE_LIMIT_PAYMENTS_PER_MINUTE: '600' },
  gateway: { FACILITATOR_REQUESTS_PER_MINUTE: '300', RATE_LIMIT_PAYMENTS_PER_MINUTE: '30' },
}
/** Of the penniless wallet in each attack: more than the facilitator takes a minute from the gateway's client key. */
const HEADERS = 605
const AT_ONCE = 32
const BUYERS = 4
const TIMEOUT_MS = 60_000

type Session = { wallet: Wallet; token: string }
type Phase = {
  name: string
  served: number
  slowestMs: number
  answers: string
  attacked: string
  settles: number
}

export const pennilessWallet: Benchmark = {
  name: 'penniless-wallet',
  title: 'Payments of a wallet without money, beside honest buyers',
  async run(context) {
    // Once: the limits count by the minute, and another round would need a new world.
    const world = await openWorld(context, { environment: (name) => limits[name] ?? {} })
    const honest = await Promise.all(
      developmentWallets.slice(0, 2 * BUYERS).map(({ privateKey }) => signIn(world, new Wallet(privateKey))),
    )
    const [regulars, newcomers] = [honest.slice(0, BUYERS), honest.slice(BUYERS)]
    const phases: Phase[] = []
    for (const [name, buyers, attack] of [
      ['before', regulars, undefined],
      ['after garbage signatures', newcomers, { isGarbage: true }],
      ['after valid signatures without money', regulars, { isGarbage: false }],
      ['at the end', newcomers, undefined],
    ] as const) {
      const phase = await play(world, name, buyers, attack)
      context.progress(`${name}: ${phase.attacked || 'no attack'}; buyers ${phase.answers}`)
      phases.push(phase)
    }
    return { comparisons: compare(phases), charts: [] }
  },
}

function compare(phases: readonly Phase[]): Comparison[] {
  return phases.slice(1).map(({ name, served, slowestMs, answers, attacked, settles }) => ({
    measured: `honest payments served ${name}`,
    against: 'all of them',
    ratio: served / BUYERS,
    reach: { atLeast: 1 },
    figures: {
      [`slowest honest payment ${name}, ms`]: Math.round(slowestMs),
      [`honest payments ${name}`]: answers,
      ...(attacked === '' ? {} : { [`payments of the attack ${name}`]: attacked }),
      [`/settle requests ${name}`]: settles,
    },
  }))
}

/** The buyers start after the last response to the attack, when the key's rate limit is most likely exceeded. */
async function play(
  world: World,
  name: string,
  buyers: readonly Session[],
  attack: { isGarbage: boolean } | undefined,
): Promise<Phase> {
  const before = await settleRequests(world)
  const attacked = attack ? await flood(world, attack) : []
  const bought = await Promise.all(buyers.map((session) => pay(world, session)))
  return {
    name,
    served: bought.filter(({ answer }) => answer === '200').length,
    slowestMs: Math.max(...bought.map(({ ms }) => ms)),
    answers: tally(bought.map(({ answer }) => answer)),
    attacked: tally(attacked),
    settles: (await settleRequests(world)) - before,
  }
}

async function flood(world: World, attack: { isGarbage: boolean }): Promise<string[]> {
  const attacker = await signIn(world, new Wallet(`0x${randomBytes(32).toString('hex')}`))
  const answers: string[] = []
  let sent = 0
  const lane = async () => {
    while (sent++ < HEADERS) answers.push((await pay(world, attacker, attack)).answer)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, lane))
  return answers
}

async function pay(world: World, { wallet, token }: Session, options?: { isGarbage: boolean }) {
  const { gateway, plan } = world
  const payment = JSON.stringify(createPaymentSigner(plan).sign(wallet, options))
  const startedAt = performance.now()
  const answer = await fetch(`${gateway.url}/rpc`, {
    method: 'POST',
    signal: AbortSignal.timeout(TIMEOUT_MS),
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      'x-payment': Buffer.from(payment).toString('base64'),
    },
    body: JSON.stringify({
      ecosystem: plan.ecosystem,
      chain_id: plan.chain_id,
      resource: '',
      method: 'POST',
      transport: 'rpc',
      payload: { jsonrpc: '2.0', id: 1, method: 'eth_blockNumber', params: [] },
    }),
  })
  const { code } = (await answer.json()) as { code?: string }
  return { answer: [answer.status, code].filter(Boolean).join(' '), ms: performance.now() - startedAt }
}

async function signIn({ gateway, serviceName, plan }: World, wallet: Wallet): Promise<Session> {
  const { address } = wallet
  const { nonce } = await fetchJson<{ nonce: string }>(`${gateway.url}/auth/nonce?address=${address}`)
  const message = `${serviceName} wants you to sign in.\n\nAddress: ${address}\nNonce: ${nonce}\nIssued At: ${new Date().toISOString()}`
  const { token } = await fetchJson<{ token: string }>(`${gateway.url}/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      message,
      address,
      signature: await wallet.signMessage(message),
      auth_method: 'siwe',
      x402_chain_id: plan.chain_id,
      x402_ecosystem: plan.ecosystem,
      pricing_plan_id: plan.id,
    }),
  })
  return { wallet, token }
}

/** Settlement requests with a response. */
async function settleRequests({ facilitator }: World): Promise<number> {
  const text = await (await fetch(facilitator.metricsUrl)).text()
  const counts = [...text.matchAll(/^tollgate_http_request_duration_seconds_count\{([^}]*)\} (\d+)/gm)]
  return counts
    .filter(([, labels]) => labels?.includes('route="/api/v1/settle"'))
    .reduce((sum, [, , count]) => sum + Number(count), 0)
}

async function fetchJson<T>(url: string, options: RequestInit = {}): Promise<T> {
  const answer = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS), ...options })
  if (!answer.ok) throw new Error(`${new URL(url).pathname} answered ${answer.status}`)
  return (await answer.json()) as T
}
