import { closeAll } from '@tollgate/testing'
import { hexlify, randomBytes } from 'ethers'
import { newPayer, sharedChain, transfersFrom } from '../testing/chain'
import { startFailingNode, startLyingNode } from '../testing/failing-node'
import { hostileInfrastructure } from '../testing/hostile'
import { paymentRequest, type PaymentRequest } from '../testing/payment'

const rpcUrl = sharedChain()
type Lie = (result: unknown) => unknown
type Lies = Record<string, Lie>

/** What the node says in place of what is so. */
let lies: Lies = {}
let problem: { code: number; message: string } | undefined
let ground: Awaited<ReturnType<typeof hostileInfrastructure>>

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
  const failing = await startFailingNode(rpcUrl, 'eth_sendRawTransaction', () => problem)
  const url = await startLyingNode(failing, Object.fromEntries(lying))
  ground = await hostileInfrastructure({ rpcUrl: url, variables: { SETTLE_TIMEOUT_SECONDS: '1' } })
})
afterAll(closeAll)

/** Settles while the node is faulty and again afterwards: paid once, success reported once. */
async function expectPaidOnceAfter(body: PaymentRequest, { isSent }: { isSent: boolean }) {
  const { facilitator, client } = ground
  const payer = body.paymentPayload.payload.authorization.from
  const before = await ground.sent()
  const answer = await facilitator.api.post('/api/v1/settle').set(client).send(body)
  const result = answer.body as object
  // Pending, or not even claimed: nothing that would have the payer pay again.
  if (answer.status === 500) expect(result).toMatchObject({ code: 'SETTLEMENT_FAILED' })
  else expect(result).toMatchObject({ success: false, errorReason: 'settlement_pending' })
  if (!isSent) expect(await transfersFrom(rpcUrl, payer)).toEqual([])

  lies = {}
  problem = undefined
  let last = await ground.settle(body)
  for (const until = Date.now() + 30_000; last.errorReason === 'settlement_pending' && Date.now() < until;)
    last = await ground.settle(body)
  expect(last).toMatchObject({ success: true })
  expect(await ground.settle(body)).toMatchObject({ errorReason: 'duplicate_settlement' })
  expect(await transfersFrom(rpcUrl, payer)).toMatchObject([{ transaction: last.transaction }])
  expect(await ground.sent()).toBe(before + 1)
}

describe('a payment is not a success while its node lies, and is paid once, when it tells the truth: a node that', () => {
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
    ['has receipts of blocks that are none', receipts({ blockHash: hexlify(randomBytes(32)) })],
    ['has receipts from the future', receipts({ blockNumber: '0xffffffff' })],
    ['has receipts of other transactions', receipts({ transactionHash: hexlify(randomBytes(32)) })],
    [
      'finds no events, and has no receipts',
      { eth_getLogs: () => [], eth_getTransactionReceipt: () => null },
    ],
    [
      'answers other hashes to what it is sent, and has no receipts',
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
  ['is asked too often', { code: -32005, message: 'rate limit exceeded' }],
  ['fails inside', { code: -32603, message: 'internal error' }],
  ['has no room', { code: -32000, message: 'txpool is full' }],
])(
  'a payment whose node takes no transaction, for it %s, waits, and is settled once',
  async (_, newProblem) => {
    problem = newProblem
    await expectPaidOnceAfter(await paymentRequest(await newPayer(rpcUrl)), { isSent: false })
  },
)
