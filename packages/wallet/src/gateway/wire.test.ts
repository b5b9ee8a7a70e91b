import * as protocol from '@tollgate/protocol'
import * as v from 'valibot'
import * as wire from './wire'

/** The examples of the gateway's own schemas, which its API reference shows. */
const examplesOf = (schema: { meta(): Record<string, unknown> | undefined }) =>
  schema.meta()?.['examples'] as unknown[]

const record = {
  id: 1,
  pricing_plan_id: 1,
  provider_id: 'devnet',
  ecosystem: 'evm',
  chain_id: '84532',
  transport: 'rpc',
  method: 'POST',
  resource: '',
  rpc_method: null,
  credits: 1,
  status_code: null,
  outcome: 'reserved',
  latency_ms: null,
  created_at: '2026-11-25T12:00:00.000Z',
  key_label: null,
} satisfies protocol.UsageRecord

const payment = {
  id: '5b1f2a3c-9a4e-4d57-8a3b-0f6c2f1e7d90',
  pricing_plan_id: 1,
  network: 'base-sepolia',
  chain_id: '84532',
  asset: '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
  amount: '10000',
  payer: '0x286DcB1c9962D1129a79E4A31A7988b3bA87b0c3',
  pay_to: '0x941b84B0EFa6B0De50C626dD1c5870441344F361',
  credits: 100,
  status: 'received',
  transaction: null,
  block_number: null,
  created_at: '2026-11-25T12:00:00.000Z',
  settled_at: null,
  reversed_at: null,
  nonce: '0x01',
  decimals: 6,
  display_denom: 'USDC',
} satisfies protocol.PaymentHistoryRecord

test.each<[string, v.GenericSchema, unknown[]]>([
  ['plans', wire.Plan, examplesOf(protocol.PricingPlan)],
  ['providers', wire.Provider, examplesOf(protocol.Provider)],
  ['balances', wire.CreditBalance, examplesOf(protocol.CreditBalance)],
  ['calls', wire.UsageRecord, [protocol.UsageRecord.parse(record)]],
  ['payments', wire.PaymentRecord, [protocol.PaymentHistoryRecord.parse(payment)]],
  ['nonces', wire.Nonce, examplesOf(protocol.NonceAnswer)],
  ['sessions', wire.SessionTokens, examplesOf(protocol.SessionTokens)],
  ['access keys', wire.AccessKey, examplesOf(protocol.AccessKey)],
  ['new access keys', wire.CreatedAccessKey, examplesOf(protocol.CreatedAccessKey)],
  ['purchases', wire.PurchaseAnswer, examplesOf(protocol.PurchaseAnswer)],
])('reads %s as the gateway describes them', (_name, schema, examples) => {
  expect(examples.length).toBeGreaterThan(0)
  for (const example of examples) expect(v.parse(schema, example)).toEqual(example)
})
