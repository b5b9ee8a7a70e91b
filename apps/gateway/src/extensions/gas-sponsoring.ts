import { GAS_SPONSORING, type PaymentRequirementsV2 } from '@tollgate/protocol'
import { type Extensions } from './extension'

/** The specification's types of these members are left out: clients return the schema in a header, with the payment. */
const declaration = {
  info: {
    description: 'The facilitator accepts EIP-2612 gasless Permit to `Permit2` canonical contract.',
    version: '1',
  },
  schema: { type: 'object', required: ['from', 'asset', 'amount', 'deadline', 'signature'] },
}

/** `eip2612GasSponsoring`, if an entry is paid by Permit2: the client may add the token's own permit to its payment. */
export const declareGasSponsoring = (accepts: readonly Pick<PaymentRequirementsV2, 'extra'>[]): Extensions =>
  accepts.some(({ extra }) => extra?.['assetTransferMethod'] === 'permit2')
    ? { [GAS_SPONSORING]: declaration }
    : {}
