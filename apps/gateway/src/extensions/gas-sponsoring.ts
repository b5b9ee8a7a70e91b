import { GAS_SPONSORING, type PaymentRequirementsV2 } from '@tollgate/protocol'
import { DIALECT, type Extensions } from './extension'

const address = { type: 'string', pattern: '^0x[a-fA-F0-9]{40}$' }
const digits = { type: 'string', pattern: '^[0-9]+$' }

const properties = {
  from: address,
  asset: address,
  spender: address,
  amount: digits,
  nonce: digits,
  deadline: digits,
  signature: { type: 'string', pattern: '^0x[a-fA-F0-9]+$' },
  version: { type: 'string', pattern: String.raw`^[0-9]+(\.[0-9]+)*$` },
}

/** Without the specification's descriptions: clients return it in a header, with the payment. */
const declaration = {
  info: {
    description: 'The facilitator accepts EIP-2612 gasless Permit to `Permit2` canonical contract.',
    version: '1',
  },
  schema: { $schema: DIALECT, type: 'object', properties, required: Object.keys(properties) },
}

/** `eip2612GasSponsoring`, if an entry is paid by Permit2: the client may add the token's own permit to its payment. */
export const declareGasSponsoring = (accepts: readonly Pick<PaymentRequirementsV2, 'extra'>[]): Extensions =>
  accepts.some(({ extra }) => extra?.['assetTransferMethod'] === 'permit2')
    ? { [GAS_SPONSORING]: declaration }
    : {}
