import { PaymentPath, type PaymentStatusAnswer, type PurchaseAnswer } from '@tollgate/protocol'
import { addressKey, ApiError, parse, requestId, spanOf } from '@tollgate/service'
import { type Request, type Response } from 'express'
import { type History } from '../accounts/history'
import { type Session } from '../auth/sessions'
import { parseWallet } from '../wallet-address'
import { type BuyInSession } from './buy-in-session'
import { parsePaymentHeader } from './payment-header'
import { progressOf } from './payment-progress'
import { sendPaymentRequired } from './payment-response'
import { type SettlementLookup } from './settlement-lookup'

export function createPaymentHandlers(parts: {
  buyInSession: BuyInSession
  history: Pick<History, 'findPayment'>
  findSettlement: SettlementLookup
  resource: string
}) {
  const { buyInSession, history, findSettlement, resource } = parts
  return {
    async buy(req: Request, res: Response, session: Session) {
      const client = { address: addressKey(req), requestId: requestId(req), span: spanOf(req) }
      const bought = await buyInSession(
        { session, payment: parsePaymentHeader(req), client, resource },
        {
          setHeaders: (headers) => void res.set(headers),
          requirePayment: (body, offer) => sendPaymentRequired(res, body, offer),
        },
      )
      if (!bought) return
      const { payment, remaining } = bought
      const answer: PurchaseAnswer = {
        pricing_plan_id: payment.planId,
        credits: payment.credits,
        transaction: payment.transaction ?? '',
        network: payment.network,
        remaining_credits: Number(remaining),
      }
      res.set('Cache-Control', 'no-store').json(answer)
    },

    async status(req: Request<{ wallet: string; id: string }>, res: Response) {
      const { id } = parse(PaymentPath, req.params)
      const payment = await history.findPayment(parseWallet(req.params.wallet), id)
      if (!payment)
        throw new ApiError(
          'NOT_FOUND',
          'This wallet has no such payment; GET /payments/:wallet lists its payments',
        )
      const { record, errorReason } = payment
      const { status, transaction, network, asset, payer, nonce } = record
      const settlement = SENT.has(status)
        ? await findSettlement(id, { network, asset, payer, nonce })
        : undefined
      const answer: PaymentStatusAnswer = {
        ...record,
        ...progressOf(
          { status, transaction, errorReason, isReversed: record.reversed_at !== null },
          settlement,
        ),
      }
      res.set('Cache-Control', 'no-store').json(answer)
    },
  }
}

/** The facilitator may know of them what the gateway does not. */
const SENT: ReadonlySet<string> = new Set(['settling', 'settled', 'credited'])
