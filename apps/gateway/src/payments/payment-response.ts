import {
  encodeJson,
  type PaymentChoice,
  type PaymentRequired,
  type PaymentRequiredV2,
} from '@tollgate/protocol'
import { type Response } from 'express'

export type PaymentResponse = {
  setHeaders: (headers: Record<string, string>) => void
  requirePayment: (body: PaymentRequired | PaymentChoice, offer: PaymentRequiredV2) => void
}

/** The 402 of x402 version 1 in the body, of version 2 in a header. */
export const sendPaymentRequired = (
  res: Response,
  body: PaymentRequired | PaymentChoice,
  offer: PaymentRequiredV2,
) =>
  void res
    .status(402)
    .set({ 'Cache-Control': 'no-store', 'PAYMENT-REQUIRED': encodeJson(offer) })
    .json(body)
