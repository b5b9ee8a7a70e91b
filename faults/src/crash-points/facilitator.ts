import { newThirdParty } from '@tollgate/e2e/testing/client-keys'
import { until } from '@tollgate/e2e/testing/paying'
import { type World } from '@tollgate/e2e/testing/world'
import { auditTransactions } from '../audit-payments'
import { type PayingChain, type Payment, type Transfer } from '../paying-chain'
import { type Stage } from '../scenario'
import { openSettlementQueries, type SettlementRow } from '../settlement-queries'
import { openMerchant, type Merchant, type SettleOutcome } from '../merchant'
import { paymentsIn, type Target } from './round'
import { type Step } from './steps'
import { type Kill } from './crash-hook'

const AMOUNT = 1_000n
/** Most of it is the restart of the killed process. */
const RECOVERS_WITHIN_SECONDS = 25
const TAKEN_OVER_WITHIN_SECONDS = 10
const LOOK_AGAIN_MS = 20
/** A process at one of these steps owns a signer, which another must take over. */
const OWNERS_STEPS: readonly Step[] = ['signed', 'stored', 'grant-signed', 'grant-stored', 'payment-stored']

export async function facilitatorTarget(
  world: World,
  { chain, steps, stage }: { chain: PayingChain; steps: readonly Step[]; stage: Stage },
): Promise<Target> {
  const ledger = openSettlementQueries(world.infrastructure.postgres.facilitator)
  stage.closeLater(() => ledger.close())
  const key = await (await newThirdParty(world.facilitator)).newKey()
  const { signers } = chain
  const owners = () => ledger.owners(chain)

  return {
    where: 'facilitator',
    outcome:
      'Every payment is settled by one transfer. Its success is reported once, or was lost by the kill: then only a repeat with its Idempotency-Key gets it.',
    recoversWithinSeconds: RECOVERS_WITHIN_SECONDS,
    steps,
    first: world.facilitator,
    addSecond: world.addFacilitator,

    async play({ round, step, replicas, spring }) {
      const merchant = openMerchant(
        replicas.map(({ url }) => url),
        key,
      )
      try {
        const before = await until(owners, (all) => all.length === signers.length)
        const recipient = await chain.newRecipient()
        const payments = await chain.newPayments(paymentsIn(round), { payTo: recipient, amount: AMOUNT })
        // Every other request has an Idempotency-Key, so that its success can be requested again.
        const keyOf = (i: number) => (i % 2 === 0 ? `${step}-${round}-${recipient}-${i}` : undefined)
        let asking: Promise<PromiseSettledResult<SettleOutcome>[]> = Promise.resolve([])
        const kill = await spring(payments.length, () => {
          asking = Promise.allSettled(payments.map(({ request }, i) => merchant.settle(i, request, keyOf(i))))
        })
        const dead = before.map(({ session }) => session).filter((session) => kill.owners.includes(session))
        const takeover = replicas.length > 1 ? await takeoverAfter(kill, dead, step) : { problems: [] }
        const outcomes = await asking
        await until(ledger.open, (count) => count === 0, RECOVERS_WITHIN_SECONDS, LOOK_AGAIN_MS)
        const recoveredSeconds = (Date.now() - kill.at) / 1000

        const received = payments.map((payment, i) =>
          checkOutcome(payment, outcomes[i], keyOf(i) !== undefined),
        )
        const transfers = await chain.paidTo(recipient)
        const sponsored = payments.filter(({ isSponsored }) => isSponsored).length
        const problems = [
          ...takeover.problems,
          ...received.flatMap((one) => one.problems),
          ...(await askAgain(merchant, payments, keyOf, outcomes)),
          ...auditTransfers(payments, transfers),
          ...auditSettlements(payments, await ledger.paidTo(recipient)),
          ...(await auditTransactions({ chain, ledger })),
        ]
        return {
          payments: payments.length,
          counts: {
            transfers: transfers.length,
            transactions: new Set(transfers.map(({ transaction }) => transaction)).size,
            successes: received.filter(({ isReceived }) => isReceived).length,
            'successes lost by the kill': received.filter(({ isReceived }) => !isReceived).length,
            ...(sponsored > 0 ? { 'with the fee paid by us': sponsored } : {}),
          },
          takeoverSeconds: takeover.seconds,
          recoveredSeconds,
          problems,
        }
      } finally {
        await merchant.close()
      }
    },
  }

  /**
   * Checks that the survivor owns all signers of the dead process in time; `owners` are the dead one's
   * sessions.
   */
  async function takeoverAfter(
    { at }: Kill,
    dead: readonly number[],
    step: Step,
  ): Promise<{ problems: string[]; seconds?: number }> {
    if (dead.length === 0)
      return { problems: OWNERS_STEPS.includes(step) ? ['the killed process is not known as an owner'] : [] }
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
  const wrong = settlements.filter(({ status, isReported }) => status !== 'settled' || !isReported)
  const problems = wrong.map(
    ({ id, status, isReported }) => `${id} is ${status}${isReported ? '' : ' and not reported'}`,
  )
  return settlements.length === payments.length
    ? problems
    : [...problems, `${settlements.length} settlements of ${payments.length} payments`]
}

/**
 * Success is reported once: the merchant has it, or it was sent just before the kill and cannot be requested
 * again without an idempotency key.
 */
function checkOutcome(
  { id }: Payment,
  outcome: PromiseSettledResult<SettleOutcome> | undefined,
  hasKey: boolean,
) {
  if (outcome?.status !== 'fulfilled')
    return { isReceived: false, problems: [`${id}: ${String(outcome?.reason)}`] }
  const { successes, cuts, end } = outcome.value
  if (successes === 1) return { isReceived: true, problems: [] }
  const isCutOff = !hasKey && cuts > 0 && end.errorReason === 'duplicate_settlement'
  return { isReceived: false, problems: isCutOff ? [] : [`${id} ended with ${end.errorReason}`] }
}

/** Only a request with the original Idempotency-Key gets the success again. */
async function askAgain(
  merchant: Merchant,
  payments: readonly Payment[],
  keyOf: (i: number) => string | undefined,
  outcomes: readonly PromiseSettledResult<SettleOutcome>[],
) {
  const problems = await Promise.all(
    payments.map(async ({ id, request }, i) => {
      const first = outcomes[i]
      const { end } = await merchant.settle(i, request, keyOf(i))
      const isSame = first?.status === 'fulfilled' && first.value.end.transaction === end.transaction
      const isRight =
        keyOf(i) === undefined ? end.errorReason === 'duplicate_settlement' : end.success && isSame
      return isRight ? [] : [`${id} asked for again: ${end.errorReason || 'another success'}`]
    }),
  )
  return problems.flat()
}
