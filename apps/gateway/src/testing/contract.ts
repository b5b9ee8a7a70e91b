import { type OpenApiDocument } from '@tollgate/service'
import { createContract, type Contract } from '@tollgate/testing/reference'

export const gatewayContract = (document: OpenApiDocument): Contract =>
  createContract(document, {
    ownHeaders: ['x-payment-response', 'payment-response', 'payment-required', 'x-credits-remaining'],
    isPassedOn,
  })

/** Only an upstream's response has a cost. */
export const isPassedOn = (headers: Record<string, unknown>) => headers['x-credits-charged'] !== undefined
