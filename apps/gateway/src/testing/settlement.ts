import { type SettlementDetails } from '@tollgate/protocol'

const AT = '2026-01-15T12:00:00.000Z'
const transaction = `0x${'ab'.repeat(32)}`

/** A settlement whose transaction has one of three confirmations. */
export const settlementOf = (changes: Partial<SettlementDetails> = {}): SettlementDetails => ({
  id: '42',
  network: 'base-sepolia',
  asset: '0xusdc',
  symbol: 'USDC',
  decimals: 6,
  amount: '10000',
  payer: '0xpayer',
  recipient: '0xshop',
  resource: null,
  paymentIdentifier: null,
  clientId: 'client_gateway',
  state: 'pending',
  reason: null,
  detail: null,
  transaction,
  block: 7,
  fee: '0',
  createdAt: AT,
  updatedAt: AT,
  settledAt: null,
  endedAt: null,
  confirmations: 1,
  requiredConfirmations: 3,
  transactions: [
    {
      hash: transaction,
      state: 'mined',
      signer: null,
      nonce: null,
      signedAt: null,
      acceptedAt: AT,
      block: 7,
      fee: null,
    },
  ],
  timeline: [{ at: AT, event: 'claimed' }],
  ...changes,
})
