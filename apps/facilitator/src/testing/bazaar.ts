import { type PaymentRequirements } from '@tollgate/protocol'
import { type BaseWallet } from 'ethers'
import { inVersion2, paymentRequest } from './payment'

/** The extension `bazaar` of a resource that is called by GET. */
export const bazaarOf = () => ({
  info: {
    input: { type: 'http', method: 'GET', queryParams: { city: 'Oslo' } },
    output: { type: 'json', example: { weather: 'sunny' } },
  },
  schema: {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    properties: {
      input: {
        type: 'object',
        properties: {
          type: { type: 'string', const: 'http' },
          method: { type: 'string', enum: ['GET', 'HEAD', 'DELETE'] },
          queryParams: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
        },
        required: ['type', 'method'],
        additionalProperties: false,
      },
      output: { type: 'object', properties: { type: { type: 'string' } }, required: ['type'] },
    },
    required: ['input'],
  },
})

/** A payment of version 2 that declares its resource. */
export async function declaredPayment(
  payer: BaseWallet,
  changes: {
    requirements?: Partial<PaymentRequirements>
    resource?: object
    bazaar?: unknown
  } = {},
) {
  const { requirements, resource = {}, bazaar = bazaarOf() } = changes
  const body = inVersion2(await paymentRequest(payer, requirements ? { requirements } : {}))
  const { paymentPayload } = body
  return {
    ...body,
    paymentPayload: {
      ...paymentPayload,
      resource: { ...paymentPayload.resource, ...resource },
      extensions: { bazaar },
    },
  }
}
