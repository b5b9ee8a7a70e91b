import { ChainUnavailable, isPayersTransaction } from '@tollgate/chains'
import { type Caller } from '../clients/store'
import { highestPlausible, isFarBehind } from '../settlement/claims/claim-outcome'
import { type ClaimWindow } from './claim-window'
import { falseIfUnavailable, type PaymentChecks } from './payment-checks'
import { type PaymentRequest } from './payment-request'
import { isSamePayment, paidBlockOf, type ClaimFacts } from './settle-decisions'
import { type EarlierClaim, type Settlement, type SettlementStore } from './store'

/** Reads what a claim depends on. Rejects with `ChainUnavailable` if the network does not answer. */
export function createReadClaimFacts({
  checks,
  store,
  now,
}: {
  checks: PaymentChecks
  store: SettlementStore
  now: () => Date
}) {
  /** `until`: the end of the claim window, by the clock of Postgres. */
  async function readClaimFacts(
    { request, caller, window }: { request: PaymentRequest; caller: Caller; window: ClaimWindow },
    { sent, isOwnRecipient }: { sent: Settlement | undefined; isOwnRecipient: boolean },
  ): Promise<ClaimFacts & { until: Date }> {
    const { network, payment, terms } = request
    const { head, ...chainState } = await readChainState(request, window)
    const headBlock = head.number
    const problem = chainState.refusal ?? (await checks.checkFees(request, caller))
    const earlierClaim = sent && (await findEarlierClaim(sent, request))
    const paidBlock =
      problem?.isSpent && earlierClaim
        ? paidBlockOf(
            await network.chain.payments.paymentStatus({ payment, terms, minBlock: headBlock }),
            earlierClaim,
            headBlock,
          )
        : undefined
    const arrival =
      problem && isOwnRecipient && paidBlock === undefined
        ? await checks.findArrival(request, problem, head)
        : problem
    const [refusal, arrived] = arrival && 'hash' in arrival ? [problem, arrival] : [arrival, undefined]
    return {
      ...chainState,
      headBlock,
      refusal,
      arrived,
      isOwnRecipient,
      sent,
      isSamePayment: earlierClaim !== undefined,
      paidBlock,
      isPayerTransaction: isPayersTransaction(payment),
    }
  }

  /** Reads everything at about one time. */
  async function readChainState(request: PaymentRequest, window: ClaimWindow) {
    const { chain } = request.network
    const newest = chain.node.head()
    const [head, heights, refusal, until, isUnspent] = await Promise.all([
      newest,
      chain.node.heights(),
      checks.verifyOnChain(request),
      store.clock().then((time) => window.endsAt(time)),
      newest.then(({ number }) => isUnspentAt(request, number)),
    ])
    const { number: headBlock } = head
    if (isFarBehind(head, heights, now()))
      throw new ChainUnavailable(`The node is at block ${headBlock}, far behind another node`)
    return { head, highestBlock: highestPlausible(headBlock, heights), refusal, until, isUnspent }
  }

  /** Undefined if the payer has since signed another payment under the same nonce. */
  async function findEarlierClaim(
    { id }: Settlement,
    { network, payment }: PaymentRequest,
  ): Promise<EarlierClaim | undefined> {
    const claim = await store.findEarlierClaim(id)
    const claimed = claim && network.family.readPayment(claim.payload)
    return claimed && isSamePayment(claimed, payment) ? claim : undefined
  }

  return readClaimFacts
}

/** Reads the nonce at this very block: the newest block and the verification may come from different nodes. */
const isUnspentAt = ({ network, payment, terms }: PaymentRequest, block: bigint): Promise<boolean> =>
  falseIfUnavailable(network.chain.payments.isSpentAt(payment, terms, block).then((isSpent) => !isSpent))
