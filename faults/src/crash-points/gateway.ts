import { setTimeout as delay } from 'node:timers/promises'
import { openLedgerQueries } from '@tollgate/e2e/testing/ledger-queries'
import { call, until } from '@tollgate/e2e/testing/paying'
import { plainBlockNumber, plainUrl, postJson } from '@tollgate/e2e/testing/plain-calls'
import { type World } from '@tollgate/e2e/testing/world'
import { type Family } from '../family'
import { type PayingChain } from '../paying-chain'
import { type Stage } from '../scenario'
import { paymentsIn, type Target } from './round'
import { gatewayPoints, payPerRequestPoints, type Step } from './steps'

const MONEY = 1_000_000n
/** Exceeds the lease of the right to request a settlement, and the time until the calls of a dead replica are refunded. */
const RECOVERS_WITHIN_SECONDS = 60
const AGAIN_MS = 100

type Parts<C extends PayingChain> = { family: Family<C>; chain: C; stage: Stage }

/** Buys in sessions, or without them by payments that each pay for one call. */
export function gatewayTarget<C extends PayingChain>(
  world: World,
  { family, chain, stage, buys = 'in-session' }: Parts<C> & { buys?: 'in-session' | 'per-request' },
): Target {
  const plan = family.planOf(world)
  const ledger = openLedgerQueries(world.infrastructure.postgres.gateway)
  stage.closeLater(() => ledger.close())

  return {
    where: 'gateway',
    outcome:
      buys === 'in-session'
        ? 'Every payment is settled by one transfer, and its credits are granted once.'
        : 'Every payment is settled by one transfer, its credits are granted once, and it serves one call, also of the client whose answer was lost.',
    recoversWithinSeconds: RECOVERS_WITHIN_SECONDS,
    steps: Object.keys(buys === 'in-session' ? gatewayPoints : payPerRequestPoints) as Step[],
    first: world.gateway,
    addSecond: world.addGateway,

    async play({ round, replicas, spring }) {
      const buyers: Buyer[] = []
      while (buyers.length < paymentsIn(round)) buyers.push(await newBuyer())
      let buying: Promise<PromiseSettledResult<void>[]> = Promise.resolve([])
      const kill = await spring(buyers.length, () => {
        buying = Promise.allSettled(buyers.map((buyer, i) => servedIn(replicas, i, buyer)))
      })
      const problems = (await buying).flatMap((one) =>
        one.status === 'rejected' ? [String(one.reason)] : [],
      )
      const recoveredSeconds = (Date.now() - kill.at) / 1000

      const written = (await Promise.all(buyers.map(({ address }) => ledger.payments(address)))).flat()
      const granted = written.filter(({ status, grants }) => status === 'credited' && grants === 1n)
      if (written.length !== buyers.length || granted.length !== buyers.length)
        problems.push(
          `of ${buyers.length} payments ${written.length} written down and ${granted.length} granted once`,
        )
      if (buys === 'per-request') problems.push(...(await checkRepeats(buyers)))
      problems.push(...(await ledger.broken()))
      const ids = new Set(written.map(({ payer, nonce }) => `${payer} ${nonce}`.toLowerCase()))
      const transfers = (await chain.paidTo(plan.pay_to)).filter(({ id }) => ids.has(id))
      if (transfers.length !== buyers.length || new Set(transfers.map(({ id }) => id)).size !== buyers.length)
        problems.push(`${transfers.length} transfers of ${buyers.length} payments`)
      return {
        payments: buyers.length,
        counts: { transfers: transfers.length, grants: granted.length },
        recoveredSeconds,
        problems,
      }
    },
  }

  async function newBuyer(): Promise<Buyer> {
    const { address, session, pay } = await family.newCustomer(world, plan, MONEY)
    const payment = await pay((await call(world, session.token)).body)
    return {
      address,
      async send(gateway) {
        if (buys === 'in-session') return call({ gateway }, session.token, payment)
        const url = plainUrl({ gateway }, world.plan.chain_id)
        const answer = await postJson(url, plainBlockNumber, { 'x-payment': payment })
        return { status: answer.status, body: await answer.json() }
      },
    }
  }

  /** The problems of payments that should have served one call each. */
  async function checkRepeats(buyers: readonly Buyer[]): Promise<string[]> {
    await ledger.settled(RECOVERS_WITHIN_SECONDS)
    const problems: string[] = []
    for (const { address, send } of buyers) {
      // The killed gateway may still be starting.
      const again = await until(
        () => send(world.gateway),
        ({ status }) => status < 500,
      )
      const spent = BigInt(plan.credits) - (await ledger.balance(address))
      if (again.status !== 402) problems.push(`a payment that had served a call was answered ${again.status}`)
      if (spent !== 1n) problems.push(`${spent} credits of a payment for one call are spent`)
    }
    return problems
  }
}

type Buyer = {
  address: string
  /** Sends the call with the payment. */
  send: (gateway: { url: string }) => Promise<{ status: number; body: unknown }>
}

/** Repeats the call with the same payment until it is served. @throws Error if it is refused or times out */
async function servedIn(
  replicas: readonly { url: string }[],
  turn: number,
  { address, send }: Buyer,
): Promise<void> {
  const deadline = Date.now() + RECOVERS_WITHIN_SECONDS * 1000
  let last = 'nothing'
  for (let next = turn; Date.now() < deadline; next++) {
    const gateway = replicas[next % replicas.length]
    const answer = gateway && (await send(gateway).catch(() => undefined))
    if (answer?.status === 200) return
    if (answer) last = `${answer.status} ${JSON.stringify(answer.body)}`
    if (answer && answer.status < 500) break
    await delay(AGAIN_MS)
  }
  throw new Error(`${address} paid and was not served; last: ${last}`)
}
