import { setTimeout as delay } from 'node:timers/promises'
import { openLedgerQueries } from '@tollgate/e2e/testing/ledger-queries'
import { call } from '@tollgate/e2e/testing/paying'
import { type World } from '@tollgate/e2e/testing/world'
import { type Family } from '../family'
import { type PayingChain } from '../paying-chain'
import { type Stage } from '../scenario'
import { paymentsIn, type Target } from './round'
import { gatewayPoints, type Step } from './steps'

const MONEY = 1_000_000n
/** Exceeds the lease of the right to request a settlement. */
const RECOVERS_WITHIN_SECONDS = 60
const AGAIN_MS = 100

export function gatewayTarget<C extends PayingChain>(
  world: World,
  { family, chain, stage }: { family: Family<C>; chain: C; stage: Stage },
): Target {
  const plan = family.planOf(world)
  const ledger = openLedgerQueries(world.infrastructure.postgres.gateway)
  stage.closeLater(() => ledger.close())

  return {
    where: 'gateway',
    outcome: 'Every payment is settled by one transfer, and its credits are granted once.',
    recoversWithinSeconds: RECOVERS_WITHIN_SECONDS,
    steps: Object.keys(gatewayPoints) as Step[],
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
    const { body } = await call(world, session.token)
    return { address, token: session.token, payment: await pay(body) }
  }
}

type Buyer = { address: string; token: string; payment: string }

/** Repeats the call with the same payment until it is served. @throws Error if it is refused or times out */
async function servedIn(
  replicas: readonly { url: string }[],
  turn: number,
  { address, token, payment }: Buyer,
): Promise<void> {
  const deadline = Date.now() + RECOVERS_WITHIN_SECONDS * 1000
  let last = 'nothing'
  for (let next = turn; Date.now() < deadline; next++) {
    const gateway = replicas[next % replicas.length]
    const answer = gateway && (await call({ gateway }, token, payment).catch(() => undefined))
    if (answer?.status === 200) return
    if (answer) last = `${answer.status} ${JSON.stringify(answer.body)}`
    if (answer && answer.status < 500) break
    await delay(AGAIN_MS)
  }
  throw new Error(`${address} paid and was not served; last: ${last}`)
}
