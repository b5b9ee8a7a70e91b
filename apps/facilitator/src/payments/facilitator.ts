import { ChainUnavailable, type Refusal } from '@tollgate/chains'
import {
  type SettleRequest,
  type SettleResult,
  type VerifyRequest,
  type VerifyResult,
} from '@tollgate/protocol'
import { type Logger } from '@tollgate/service'
import { sha256 } from '../digest'
import { type Networks } from '../networks/networks'
import { failure, invalid, pending, success, valid } from './answers'
import { checkAsset, isRefusal, readOrder, type Order } from './order'
import { type Outcomes } from './outcomes'
import { type Asker, type Settlement, type SettlementStore } from './store'
import { type Verdicts } from './verdicts'

/** A question older than this claims nothing: who asked may be gone, and may have been told otherwise since. */
const CLAIM_WITHIN_MS = 60_000

export type Facilitator = ReturnType<typeof createFacilitator>

/** Verifies and settles payments. Both reject with `ChainUnavailable` where the network gives no answer; nothing is done then. */
export function createFacilitator(parts: {
  networks: Networks
  verdicts: Verdicts
  store: SettlementStore
  outcomes: Outcomes
  /** How long a request waits at most for its outcome. */
  settleWaitSeconds: number
  logger: Logger
  now: () => Date
}) {
  const { networks, verdicts, store, outcomes, settleWaitSeconds, logger, now } = parts

  /** Whether the payment would settle now. Takes nothing, claims nothing. */
  async function verify(request: VerifyRequest): Promise<VerifyResult> {
    const order = await readOrder(request, networks)
    if (isRefusal(order)) return invalid(order, now())
    const inactive = checkAsset(order)
    if (inactive) return invalid(inactive, now())
    const requestHash = hashOf(request)
    const { payer } = order.payment
    if (await verdicts.isKnown(order, requestHash)) return valid(payer, { cached: true, at: now() })

    const refusal = await judge(order)
    if (refusal) return invalid(refusal, now())
    await verdicts.remember(order, requestHash)
    return valid(payer, { cached: false, at: now() })
  }

  /**
   * Settles the payment, once, whoever asks and however often. Success is told once, to the client that claimed it: to the
   * first of its identical requests, and to repeats of that one's Idempotency-Key. A request whose outcome is not known
   * within `maxTimeoutSeconds` may be sent again to learn it.
   */
  async function settle(
    request: SettleRequest,
    { clientId, idempotencyKey }: Pick<Asker, 'clientId' | 'idempotencyKey'>,
  ): Promise<SettleResult> {
    const askedAt = now().getTime()
    const patienceSeconds = Math.min(request.paymentRequirements.maxTimeoutSeconds, settleWaitSeconds)
    const asker: Asker = { clientId, idempotencyKey, requestHash: hashOf(request) }

    const order = await readOrder(request, networks)
    if (isRefusal(order))
      return failure(order.reason, networks.find(request.paymentRequirements.network)?.name ?? '', now())
    const settlement = await claimed(order, asker, request, askedAt + CLAIM_WITHIN_MS)
    if (isRefusal(settlement)) return failure(settlement.reason, order.network.name, now())
    if (!isSameRequest(settlement, asker)) return failure('duplicate_settlement', settlement.network, now())

    const over = await outcomes.wait(settlement.id, askedAt + patienceSeconds * 1000 - now().getTime())
    return over ? tell(over, asker) : tellPending(settlement, asker)
  }

  /** The settlement of this payment, whoever claimed it first; or why nobody may. */
  async function claimed(
    order: Order,
    asker: Asker,
    request: SettleRequest,
    until: number,
  ): Promise<Settlement | Refusal> {
    const earlier = await store.find(order)
    if (earlier && !mayBeTakenOver(earlier, asker)) return earlier

    outcomes.refuseCrowd()
    const inactive = checkAsset(order)
    if (inactive) return inactive
    const refusal = await judge(order)
    const isPaidElsewhere = refusal?.reason === 'invalid_transaction_state' && (await findElsewhere(order))
    if (!refusal || isPaidElsewhere) {
      if (now().getTime() > until)
        throw new ChainUnavailable(`${order.network.name} answers so slowly that nobody may wait any more`)
      const own = await store.claim(order, asker, request.paymentPayload.payload)
      if (own) {
        await verdicts.forget(order)
        logger.info('settlement claimed', { settlement: own.id, ...factsOf(order), client: asker.clientId })
        return own
      }
    }
    // Somebody may have claimed it since; what was settled meanwhile is refused by its chain for that very reason.
    const other = await store.find(order)
    if (other && !(refusal && mayBeTakenOver(other, asker))) return other
    return refusal ?? { reason: 'duplicate_settlement', detail: 'claimed and gone' }
  }

  /** An authorization lies open once it is sent, and anybody may have sent it first: then it paid all the same. */
  const findElsewhere = async ({ network, payment, terms }: Order) =>
    (await network.chain.findSettled(payment, terms)) !== undefined

  const judge = ({ network, payment, terms }: Order) => network.chain.verify(payment, terms, now())

  async function tell(over: Settlement, asker: Asker): Promise<SettleResult> {
    if (!isSameRequest(over, asker)) return failure('duplicate_settlement', over.network, now())
    if (over.status !== 'settled')
      return failure(over.errorReason ?? 'unexpected_settle_error', over.network, now())
    if (await store.handOut(over.id, asker.idempotencyKey)) return success(over, now())
    return failure('duplicate_settlement', over.network, now())
  }

  async function tellPending(claim: Settlement, asker: Asker): Promise<SettleResult> {
    const settlement = (await store.byId(claim.id)) ?? claim
    if (settlement.status !== 'claimed' && settlement.status !== 'signed') return tell(settlement, asker)
    const { id, network, transactionHash } = settlement
    logger.warn('settlement pending', {
      settlement: id,
      network,
      transaction: transactionHash,
      client: asker.clientId,
    })
    return pending(settlement, now())
  }

  return { verify, settle }
}

/** What "the same request again" means. */
const hashOf = ({ paymentPayload, paymentRequirements }: VerifyRequest) =>
  sha256(JSON.stringify([paymentPayload, paymentRequirements]))

const isSameRequest = (settlement: Settlement, asker: Asker) =>
  settlement.clientId === asker.clientId && asker.requestHash.equals(settlement.requestHash)

/** A claim that came to nothing before anything was signed may be made anew; to repeat a request is to ask what came of it. */
const mayBeTakenOver = (settlement: Settlement, asker: Asker) =>
  settlement.status === 'failed' &&
  settlement.transactionHash === null &&
  !(
    asker.idempotencyKey !== null &&
    asker.idempotencyKey === settlement.idempotencyKey &&
    isSameRequest(settlement, asker)
  )

const factsOf = ({ network, payment, terms }: Order) => ({
  network: network.name,
  asset: terms.token.asset,
  amount: terms.amount,
  payer: payment.payer,
  payTo: terms.payTo,
})
