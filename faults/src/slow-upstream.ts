import { setTimeout as delay } from 'node:timers/promises'
import { openCallers } from '@tollgate/e2e/testing/callers'
import { blockNumberCall } from '@tollgate/e2e/testing/world'
import { auditCalls } from './audit'
import { playRounds } from './environment'
import { evm } from './family'
import { type Made } from './load'
import { startLoadedWorld } from './loaded-world'
import { type Scenario } from './scenario'

const FILLERS = 4
const CALLS = 1_024
const OTHERS = 6
/** Each of the others sends this many while the slow upstream is full. */
const OTHER_CALLS = 60
const PAUSE_MS = 200
const CREDITS = 100_000
const MONEY = 100_000_000n
const RELEASE_MS = 20
const SETTLED_WITHIN_SECONDS = 60
/** A third of what makes a replica dead. */
const MAX_HEARTBEAT_AGE_SECONDS = 7

const HELP = `${FILLERS} wallets send ${CALLS} calls each to a chain whose upstream holds them, while ${OTHERS} others call another chain, whose
  upstream answers at once. Every call of the others must be served, no heartbeat may be late, and what is refused must cost nothing.`

export const slowUpstream: Scenario = {
  name: 'slow-upstream',
  help: HELP,
  rounds: 3,
  async run(stage) {
    const { world, upstream, ledger, plan } = await startLoadedWorld(stage, evm, {
      count: 0,
      credits: CREDITS,
    })
    const callers = openCallers([world.gateway.url], FILLERS * CALLS)
    const otherCallers = openCallers([world.gateway.url], OTHERS)
    stage.closeLater(() => Promise.all([callers.close(), otherCallers.close()]))
    const totals = { held: 0, refused: 0, served: 0, asked: 0 }
    let oldest = 0

    /** A customer with credits. */
    async function newPayer(id: string) {
      const customer = await evm.newCustomer(world, plan, MONEY)
      const { token } = customer.session
      const asked = await callers.call(0, { id, token })
      const paid = await callers.call(0, { id, token, payment: await customer.pay(asked.body) })
      if (paid.status !== 200) throw new Error(`The first call was answered ${paid.status}`)
      return { wallet: customer.address, token }
    }

    const problems = await playRounds(stage, async (round) => {
      const payers: Awaited<ReturnType<typeof newPayer>>[] = []
      while (payers.length < FILLERS + OTHERS) payers.push(await newPayer(`of-${round}/${payers.length}`))
      const made: Made[] = []
      const filling = payers.slice(0, FILLERS).flatMap(({ token, wallet }, payer) =>
        Array.from({ length: CALLS }, async (_, n) => {
          const id = `${round}/${payer}-${n}`
          const { status, body } = await callers.call(n, { id, token, answerMode: 'answer_held' })
          made.push({ id, wallet, status, code: body['code'] as string | undefined })
        }),
      )
      await delay(1_000)

      const statuses: number[] = []
      const over = new AbortController()
      const watching = (async () => {
        while (!over.signal.aborted) {
          const [age] = await ledger.rows<{ seconds: number }>(
            'SELECT extract(epoch FROM now() - max(heartbeat_at))::float AS seconds FROM replicas',
          )
          oldest = Math.max(oldest, age?.seconds ?? 0)
          await delay(PAUSE_MS)
        }
      })()
      await Promise.all(
        payers.slice(FILLERS).map(async ({ token }, caller) => {
          for (let n = 0; n < OTHER_CALLS; n++) {
            const { status } = await otherCallers.post(caller, '/rpc', { body: blockNumberCall, token })
            statuses.push(status)
            await delay(PAUSE_MS)
          }
        }),
      )
      const refused = made.filter(({ status }) => status === 503).length
      const releasing = setInterval(() => upstream.release(), RELEASE_MS)
      await Promise.all(filling)
      clearInterval(releasing)
      over.abort()
      await watching
      await ledger.settled(SETTLED_WITHIN_SECONDS)

      const { problems } = await auditCalls({ round, made, ledger, upstream, away: ['OVERLOADED'] })
      problems.push(...(await ledger.broken()))
      const served = statuses.filter((status) => status === 200).length
      if (served < statuses.length)
        problems.push(`${statuses.length - served} of ${statuses.length} calls of others were not served`)
      if (oldest > MAX_HEARTBEAT_AGE_SECONDS) problems.push(`a heartbeat was ${oldest.toFixed(1)} s old`)
      stage.say(
        `· round ${round}: ${made.length - refused} calls held, ${refused} refused; ${served} of ${statuses.length} calls of others served; ` +
          `oldest heartbeat ${oldest.toFixed(1)} s`,
      )
      totals.held += made.length - refused
      totals.refused += refused
      totals.served += served
      totals.asked += statuses.length
      return problems
    })
    return {
      problems,
      rows: [
        {
          fault: `${FILLERS} wallets send ${CALLS} calls each to a chain whose upstream holds them`,
          where: 'clients',
          times: stage.rounds,
          payments: 0,
          outcome:
            'Calls of others to another chain are served; refused calls cost nothing; no heartbeat is late.',
          counted: `${totals.held} calls held, ${totals.refused} refused; ${totals.served} of ${totals.asked} calls of others served; oldest heartbeat ${oldest.toFixed(1)} s`,
        },
      ],
    }
  },
}
