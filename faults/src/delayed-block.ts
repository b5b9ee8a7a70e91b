import { type Plan } from '@tollgate/e2e/testing/catalog'
import { type Customer } from '@tollgate/e2e/testing/customers'
import { call, until } from '@tollgate/e2e/testing/paying'
import { type World } from '@tollgate/e2e/testing/world'
import { auditPayments, auditTransactions } from './audit-payments'
import { cosmos, evm, type Family } from './family'
import { playRounds, prepareEnvironment, type Environment } from './environment'
import { type Payment, type PayingChain } from './paying-chain'
import { type Scenario } from './scenario'

const DIRECT = 5
const CALLERS = 3
const AMOUNT = 10_000n
const MONEY = 1_000_000n
const MAX_TIMEOUT_SECONDS = 2
/** The margin of a response after its deadline, on a busy machine. */
const SLACK_SECONDS = 3
const WITHIN_SECONDS = 60

const HELP = `The chain mines no blocks. ${DIRECT} payments are settled at the facilitator: each must get a pending response within its
  maxTimeoutSeconds, with its transaction if that was broadcast. ${CALLERS} callers pay the gateway: each request must get 503
  PAYMENT_PENDING with Retry-After. Then blocks are mined again: each payment, requested again, has succeeded once; each caller's
  credits arrive before its next request, and its call is served. One transfer each.`

const lateBlockOn = <C extends PayingChain>(family: Family<C>): Scenario => ({
  name: `${family.prefix}late-block`,
  help: `${family.helpPrefix}${HELP}`,
  rounds: 10,
  async run(stage) {
    const environment = await prepareEnvironment(stage, family, {
      facilitators: 2,
      environment: { SETTLE_TIMEOUT_SECONDS: '3' },
    })
    const { chain, merchant, world } = environment
    const plan = family.planOf(world)
    const totals = { pending: 0, waiting: 0, successes: 0, transfers: 0, served: 0 }
    let worstSeconds = 0

    const problems = await playRounds(stage, async (round) => {
      const payTo = await chain.newRecipient()
      const payments = (await chain.newPayments(DIRECT, { payTo, amount: AMOUNT })).map(withShortTimeout)
      const callers: Caller[] = []
      while (callers.length < CALLERS) callers.push(await newCaller(family, world, plan))

      await chain.setPace('stopped')
      const waiting = await Promise.all([
        ...payments.map((payment, turn) => pending(environment, payment, turn)),
        ...callers.map((caller) => payWhilePending(world, caller)),
      ])
      const isRight = (found: readonly string[]) => found.length === 0
      const counts = {
        pending: waiting.slice(0, DIRECT).filter(isRight).length,
        waiting: waiting.slice(DIRECT).filter(isRight).length,
      }
      await chain.setPace('at-once')
      const began = performance.now()
      // Repeats the requests without an Idempotency-Key, as after a pending response.
      const ending = payments.map(async (payment, turn) => ({
        payment,
        ...(await merchant.settle(turn + 1, payment.request)),
      }))
      const [ended, serving] = await Promise.all([
        Promise.all(ending),
        Promise.all(callers.map((caller) => served(world, plan, caller))),
      ])
      worstSeconds = Math.max(worstSeconds, (performance.now() - began) / 1000)

      const direct = await auditPayments({ ...environment, payTo, ended })
      const problems = [...waiting.flat(), ...serving.flat(), ...direct.problems]
      for (const [turn, { request }] of payments.entries()) {
        const { result } = await merchant.ask(turn, request)
        if (result.errorReason !== 'duplicate_settlement')
          problems.push(`a success was handed out, and then: ${JSON.stringify(result)}`)
      }
      const addresses = callers.map(({ customer }) => customer.address.toLowerCase())
      const paid = (await chain.paidTo(plan.pay_to)).filter(({ id }) =>
        addresses.includes(id.split(' ')[0] ?? ''),
      )
      if (direct.successes !== DIRECT) problems.push(`${direct.successes} of ${DIRECT} succeeded`)
      if (paid.length !== CALLERS) problems.push(`${paid.length} transfers of ${CALLERS} callers`)
      problems.push(...(await auditTransactions(environment)))

      totals.pending += counts.pending
      totals.waiting += counts.waiting
      totals.successes += direct.successes
      totals.transfers += direct.transfers + paid.length
      const servedNow = serving.filter(isRight).length
      totals.served += servedNow
      stage.say(
        `· round ${round}: ${counts.pending} pending, then ${direct.successes} successes and ${direct.transfers} transfers; ` +
          `${counts.waiting} callers asked to retry, then ${servedNow} served and ${paid.length} transfers`,
      )
      return problems
    })
    return {
      problems,
      rows: [
        {
          fault: 'No block is mined before the answer is due',
          where: 'chain',
          times: stage.rounds,
          payments: stage.rounds * (DIRECT + CALLERS),
          outcome:
            'The facilitator answers settlement_pending in time, the gateway 503 with Retry-After. After the block a repeat gets the success once, credits are granted without a request, and each payment is one transfer.',
          counted: `${totals.pending} pending, then ${totals.successes} successes; ${totals.waiting} callers asked to retry, then ${totals.served} served; ${totals.transfers} transfers`,
          worstSeconds,
        },
      ],
    }
  },
})

export const delayedBlock = lateBlockOn(evm)
export const cosmosDelayedBlock = lateBlockOn(cosmos)

function withShortTimeout({ request, ...payment }: Payment): Payment {
  const paymentRequirements = { ...request.paymentRequirements, maxTimeoutSeconds: MAX_TIMEOUT_SECONDS }
  return { ...payment, request: { ...request, paymentRequirements } }
}

async function pending(
  { merchant }: Pick<Environment, 'merchant'>,
  { request, isSponsored }: Payment,
  turn: number,
): Promise<string[]> {
  const began = performance.now()
  const { status, result } = await merchant.ask(turn, request)
  const seconds = (performance.now() - began) / 1000
  const problems: string[] = []
  // A sponsored payment is sent only after its fee grant is mined.
  const isSent = result.transaction !== ''
  if (status !== 200 || result.errorReason !== 'settlement_pending' || isSent === isSponsored)
    problems.push(`not pending, with its transaction if it was sent: ${status} ${JSON.stringify(result)}`)
  if (seconds > MAX_TIMEOUT_SECONDS + SLACK_SECONDS)
    problems.push(`answered after ${seconds.toFixed(1)} s instead of ${MAX_TIMEOUT_SECONDS}`)
  return problems
}

type Caller = { customer: Customer; payment: string }

async function newCaller<C extends PayingChain>(
  family: Family<C>,
  world: World,
  plan: Plan,
): Promise<Caller> {
  const customer = await family.newCustomer(world, plan, MONEY)
  const asked = await call(world, customer.session.token)
  return { customer, payment: await customer.pay(asked.body) }
}

const creditsOf = async ({ gateway }: World, { customer }: Caller) => {
  const answer = await fetch(`${gateway.url}/credits/${customer.address}`)
  const accounts = (await answer.json()) as { remaining_credits: number }[]
  return accounts.reduce((sum, { remaining_credits }) => sum + remaining_credits, 0)
}

async function payWhilePending(world: World, caller: Caller): Promise<string[]> {
  const problems: string[] = []
  for (const attempt of [1, 2]) {
    const { status, body, headers } = await call(world, caller.customer.session.token, caller.payment)
    const retryAfter = Number(headers.get('retry-after'))
    if (status !== 503 || body['code'] !== 'PAYMENT_PENDING' || !(retryAfter > 0))
      problems.push(
        `attempt ${attempt}: a caller got ${status} ${JSON.stringify(body)}, Retry-After ${retryAfter}`,
      )
  }
  if ((await creditsOf(world, caller)) !== 0) problems.push('credits came before the payment was settled')
  return problems
}

async function served(world: World, { credits }: Plan, caller: Caller): Promise<string[]> {
  await until(
    () => creditsOf(world, caller),
    (balance) => balance === credits,
    WITHIN_SECONDS,
  )
  const { status, body } = await call(world, caller.customer.session.token, caller.payment)
  const left = await creditsOf(world, caller)
  return status === 200 && left === credits - 1
    ? []
    : [`a caller with credits got ${status} ${JSON.stringify(body)}, and has ${left} left`]
}
