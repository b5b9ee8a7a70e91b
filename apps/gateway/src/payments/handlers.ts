import { type PurchaseAnswer } from '@tollgate/protocol'
import { addressKey, requestId } from '@tollgate/service'
import { type Request, type Response } from 'express'
import { type Session } from '../auth/sessions'
import { type BuyInSession } from './buy-in-session'
import { parsePaymentHeader } from './payment-header'
import { sendPaymentRequired } from './payment-response'

export function createPaymentHandlers(buyInSession: BuyInSession, resource: string) {
  return {
    async buy(req: Request, res: Response, session: Session) {
      const client = { address: addressKey(req), requestId: requestId(req) }
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
  }
}
