import { newThirdParty } from '../../testing/client-keys'
import { until } from '../../testing/paying'
import { type World } from '../../testing/world'
import { auditTransactions } from '../audit-payments'
import { type PayingChain, type Payment, type Transfer } from '../paying-chain'
import { type Stage } from '../scenario'
import { openSettlementBooks, type SettlementRow } from '../settlement-books'
import { openShop, type Shop, type Told } from '../shop'
import { paymentsIn, type Target } from './round'
import { type Step } from './steps'
import { type Kill } from './trap'

const AMOUNT = 1_000n
/** The process that was killed needs most of it to be there again. */
const RECOVERS_WITHIN_SECONDS = 25
const TAKEN_OVER_WITHIN_SECONDS = 10
const LOOK_AGAIN_MS = 20
/** Who reaches one of these owns a signer, so that somebody must take it over. */
const OWNERS_STEPS: readonly Step[] = ['signed', 'stored', 'grant-signed', 'grant-stored', 'payment-stored']

/** The facilitator, killed at each of these steps while a shop has payments settled, by signers that it owns all. */
export async function facilitatorTarget(
  world: World,
  { chain, steps, stage }: { chain: PayingChain; steps: readonly Step[]; stage: Stage },
): Promise<Target> {
  const books = openSettlementBooks(world.foundation.postgres.facilitator)
  stage.closeLater(() => books.close())
  const key = await (await newThirdParty(world.facilitator)).newKey()
  const { signers } = chain
  const owners = () => books.owners(chain)

  return {
    where: 'facilitator',
    outcome:
      'Every payment is settled by one transfer. Its success is told once, or was cut off by the kill: then it is told again to whoever has its Idempotency-Key, and to nobody without.',
    recoversWithinSeconds: RECOVERS_WITHIN_SECONDS,
    steps,
    first: world.facilitator,
    addSecond: world.addFacilitator,

    async play({ round, step, replicas, spring }) {
      const shop = openShop(
        replicas.map(({ url }) => url),
        key,
      )
      try {
        const before = await until(owners, (all) => all.length === signers.length)
        const recipient = await chain.newRecipient()
        const payments = await chain.newPayments(paymentsIn(round), { payTo: recipient, amount: AMOUNT })
        // Every other payment is asked for under an Idempotency-Key, so that its success can be had again.
        const keyOf = (i: number) => (i % 2 === 0 ? `${step}-${round}-${recipient}-${i}` : undefined)
        let asking: Promise<PromiseSettledResult<Told>[]> = Promise.resolve([])
        const kill = await spring(payments.length, () => {
          asking = Promise.allSettled(payments.map(({ request }, i) => shop.settle(i, request, keyOf(i))))
        })
        const dead = before.map(({ session }) => session).filter((session) => kill.owners.includes(session))
        const takeover = replicas.length > 1 ? await takeoverAfter(kill, dead, step) : { problems: [] }
        const told = await asking
        await until(books.open, (count) => count === 0, RECOVERS_WITHIN_SECONDS, LOOK_AGAIN_MS)
        const recoveredSeconds = (Date.now() - kill.at) / 1000

        const heard = payments.map((payment, i) => judge(payment, told[i], keyOf(i) !== undefined))
        const transfers = await chain.paidTo(recipient)
        const sponsored = payments.filter(({ isSponsored }) => isSponsored).length
        const problems = [
          ...takeover.problems,
          ...heard.flatMap((one) => one.problems),
          ...(await askAgain(shop, payments, keyOf, told)),
          ...auditTransfers(payments, transfers),
          ...auditSettlements(payments, await books.paidTo(recipient)),
          ...(await auditTransactions({ chain, books })),
        ]
        return {
          payments: payments.length,
          counts: {
            transfers: transfers.length,
            transactions: new Set(transfers.map(({ transaction }) => transaction)).size,
            successes: heard.filter(({ isHeard }) => isHeard).length,
            'successes cut off by the kill': heard.filter(({ isHeard }) => !isHeard).length,
            ...(sponsored > 0 ? { 'with the fee borne': sponsored } : {}),
          },
          takeoverSeconds: takeover.seconds,
          recoveredSeconds,
          problems,
        }
      } finally {
        await shop.close()
      }
    },
  }

  /** Every signer that was the dead one's, by these sessions, is the survivor's, in time. */
  async function takeoverAfter(
    { at }: Kill,
    dead: readonly number[],
    step: Step,
  ): Promise<{ problems: string[]; seconds?: number }> {
    if (dead.length === 0)
      return { problems: OWNERS_STEPS.includes(step) ? ['whoever was killed is not known as an owner'] : [] }
    const seconds = () => (Date.now() - at) / 1000
    try {
      const now = await until(
        owners,
        (all) => all.length === signers.length && all.every(({ session }) => !dead.includes(session)),
        TAKEN_OVER_WITHIN_SECONDS - seconds(),
        LOOK_AGAIN_MS,
      )
      const late = now.filter(({ since }) => since.getTime() > at)
      return {
        seconds: seconds(),
        problems: late.map(({ signer }) => `${signer} was taken over by a process that was started later`),
      }
    } catch (error) {
      return { problems: [`no takeover within ${TAKEN_OVER_WITHIN_SECONDS} s: ${String(error)}`] }
    }
  }
}

function auditTransfers(payments: readonly Payment[], transfers: readonly Transfer[]) {
  const problems = payments.flatMap(({ id }) => {
    const paid = transfers.filter((transfer) => transfer.id === id)
    return paid.length === 1 && paid[0]?.value === AMOUNT
      ? []
      : [`${id} was paid ${paid.length} times: ${paid.map(({ value }) => value).join(', ')}`]
  })
  return transfers.length === payments.length
    ? problems
    : [...problems, `${transfers.length} transfers of ${payments.length} payments`]
}

function auditSettlements(payments: readonly Payment[], settlements: readonly SettlementRow[]) {
  const wrong = settlements.filter(({ status, handedOut }) => status !== 'settled' || !handedOut)
  const problems = wrong.map(
    ({ id, status, handedOut }) => `${id} is ${status}${handedOut ? '' : ' and not handed out'}`,
  )
  return settlements.length === payments.length
    ? problems
    : [...problems, `${settlements.length} settlements of ${payments.length} payments`]
}

/** Success was handed out once: the shop has it, or it left just before the kill and cannot be had again without a key. */
function judge({ id }: Payment, told: PromiseSettledResult<Told> | undefined, hasKey: boolean) {
  if (told?.status !== 'fulfilled') return { isHeard: false, problems: [`${id}: ${String(told?.reason)}`] }
  const { successes, cuts, end } = told.value
  if (successes === 1) return { isHeard: true, problems: [] }
  const isCutOff = !hasKey && cuts > 0 && end.errorReason === 'duplicate_settlement'
  return { isHeard: false, problems: isCutOff ? [] : [`${id} ended with ${end.errorReason}`] }
}

/** A success is told again to who has its key, and to nobody else. */
async function askAgain(
  shop: Shop,
  payments: readonly Payment[],
  keyOf: (i: number) => string | undefined,
  told: readonly PromiseSettledResult<Told>[],
) {
  const problems = await Promise.all(
    payments.map(async ({ id, request }, i) => {
      const first = told[i]
      const { end } = await shop.settle(i, request, keyOf(i))
      const isSame = first?.status === 'fulfilled' && first.value.end.transaction === end.transaction
      const isRight =
        keyOf(i) === undefined ? end.errorReason === 'duplicate_settlement' : end.success && isSame
      return isRight ? [] : [`${id} asked for again: ${end.errorReason || 'another success'}`]
    }),
  )
  return problems.flat()
}
