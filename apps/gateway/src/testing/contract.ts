import { type OpenApiDocument } from '@tollgate/service'
import { createContract, type Contract } from '@tollgate/testing/reference'

/** The gateway's document as what it promises. A provider's answer is told by what it cost. */
export const gatewayContract = (document: OpenApiDocument): Contract =>
  createContract(document, {
    ownHeaders: ['x-payment-response', 'payment-response', 'payment-required', 'x-credits-remaining'],
    isPassedOn,
  })

/** Whether the answer is a provider's. */
export const isPassedOn = (headers: Record<string, unknown>) => headers['x-credits-charged'] !== undefined
