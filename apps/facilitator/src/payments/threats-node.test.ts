import { closeAll } from '@tollgate/testing'
import { hexlify, randomBytes } from 'ethers'
import { newPayer, sharedChain, transfersFrom } from '../testing/chain'
import { startFailingNode, startLyingNode } from '../testing/failing-node'
import { facilitatorWithClient, type FacilitatorWithClient } from '../testing/facilitator-with-client'
import { paymentRequest, type PaymentRequest } from '../testing/payment'

const rpcUrl = sharedChain()
type Lie = (result: unknown) => unknown
type Lies = Record<string, Lie>

/** How the node falsifies its results, by method. */
let lies: Lies = {}
let nodeError: { code: number; message: string } | undefined
let harness: FacilitatorWithClient

beforeAll(async () => {
  const methods = [
    'eth_getTransactionReceipt',
    'eth_getTransactionByHash',
    'eth_getLogs',
    'eth_blockNumber',
    'eth_sendRawTransaction',
  ]
  const lying = methods.map((method): [string, Lie] => [
    method,
    (result) => (lies[method] ? lies[method](result) : result),
  ])
  const failing = await startFailingNode(rpcUrl, 'eth_sendRawTransaction', () => nodeError)
  const url = await startLyingNode(failing, Object.fromEntries(lying))
  harness = await facilitatorWithClient({
    rpcUrl: url,
    chainUrl: rpcUrl,
    variables: { SETTLE_TIMEOUT_SECONDS: '1' },
  })
})
afterAll(closeAll)

/** Settles while the node is faulty and again afterwards: paid once, success reported once. */
async function expectPaidOnceAfter(body: PaymentRequest, { isSent }: { isSent: boolean }) {
  const { facilitator, client } = harness
  const payer = body.paymentPayload.payload.authorization.from
  const before = await harness.sent()
  const answer = await facilitator.api.post('/api/v1/settle').set(client).send(body)
  const result = answer.body as object
  // Pending or not claimed: the payer has no reason to pay again.
  if (answer.status === 500) expect(result).toMatchObject({ code: 'SETTLEMENT_FAILED' })
  else expect(result).toMatchObject({ success: false, errorReason: 'settlement_pending' })
  if (!isSent) expect(await transfersFrom(rpcUrl, payer)).toEqual([])

  lies = {}
  nodeError = undefined
  let last = await harness.settle(body)
  for (const until = Date.now() + 30_000; last.errorReason === 'settlement_pending' && Date.now() < until;)
    last = await harness.settle(body)
  expect(last).toMatchObject({ success: true })
  expect(await harness.settle(body)).toMatchObject({ errorReason: 'duplicate_settlement' })
  expect(await transfersFrom(rpcUrl, payer)).toMatchObject([{ transaction: last.transaction }])
  expect(await harness.sent()).toBe(before + 1)
}

describe('a payment is no success while its node lies, and is paid once after that: a node that', () => {
  const receipts = (change: object): Lies => ({
    eth_getTransactionReceipt: (receipt: unknown) => receipt && { ...receipt, ...change },
  })
  test.each<[string, Lies]>([
    ['has no receipts', { eth_getTransactionReceipt: () => null }],
    [
      'knows no transactions',
      { eth_getTransactionReceipt: () => null, eth_getTransactionByHash: () => null },
    ],
    ['has receipts without events', receipts({ logs: [] })],
    ['has receipts of failures', receipts({ status: '0x0' })],
    ['has receipts without a status', receipts({ status: undefined })],
    ['has receipts of unknown blocks', receipts({ blockHash: hexlify(randomBytes(32)) })],
    ['has receipts from the future', receipts({ blockNumber: '0xffffffff' })],
    ['has receipts of other transactions', receipts({ transactionHash: hexlify(randomBytes(32)) })],
    [
      'finds no events, and has no receipts',
      { eth_getLogs: () => [], eth_getTransactionReceipt: () => null },
    ],
    [
      'returns other hashes for transactions, and has no receipts',
      {
        eth_sendRawTransaction: () => hexlify(randomBytes(32)),
        eth_getTransactionReceipt: () => null,
      },
    ],
    ['stands still', { eth_blockNumber: () => '0x1' }],
  ])('%s', async (_, newLies) => {
    lies = newLies
    await expectPaidOnceAfter(await paymentRequest(await newPayer(rpcUrl)), { isSent: true })
  })
})

test.each([
  ['is rate limited', { code: -32005, message: 'rate limit exceeded' }],
  ['has an internal error', { code: -32603, message: 'internal error' }],
  ['has a full mempool', { code: -32000, message: 'txpool is full' }],
])('a payment whose node %s and accepts no transaction waits, and is settled once', async (_, newError) => {
  nodeError = newError
  await expectPaidOnceAfter(await paymentRequest(await newPayer(rpcUrl)), { isSent: false })
})
