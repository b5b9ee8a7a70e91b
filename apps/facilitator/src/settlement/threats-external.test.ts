import { USDC_ADDRESS } from '@tollgate/devnet'
import { closeAll } from '@tollgate/testing'
import { type BaseWallet } from 'ethers'
import { cancellation } from '../testing/cancel'
import { callRpc, newPayer, ownChain, transfersFrom } from '../testing/chain'
import { forward, startNode } from '../testing/failing-node'
import { facilitatorWithClient } from '../testing/facilitator-with-client'
import { withManualMining } from '../testing/manual-mining'
import { inSeconds, paymentRequest, type PaymentRequest } from '../testing/payment'
import { newSender, rawOf, rawRequest } from '../testing/raw-transfer'
import { outbid, sendAuthorization } from '../testing/third-party'

let rpcUrl: string
beforeAll(async () => ({ rpcUrl } = await ownChain()))
afterAll(closeAll)

const spent = 'invalid_transaction_state'

async function cancel(payer: BaseWallet, body: PaymentRequest) {
  const data = await cancellation(payer, body)
  await callRpc(rpcUrl, 'anvil_setBalance', payer.address, '0xde0b6b3a7640000')
  await callRpc(rpcUrl, 'anvil_impersonateAccount', payer.address)
  await callRpc(rpcUrl, 'eth_sendTransactionSync', { from: payer.address, to: USDC_ADDRESS, data })
}

/** A facilitator, and how many calls it made to its node since it was asked last; `answer` may change what the node says. */
async function counted() {
  let calls: string[] = []
  const url = await startNode((messages) => {
    calls.push(...messages.map(({ method }) => method))
    return messages.map((message) => forward(rpcUrl, message))
  })
  const ground = await facilitatorWithClient({ chainUrl: rpcUrl, rpcUrl: url })
  const made = () => {
    const before = calls
    calls = []
    return before
  }
  return { ...ground, made }
}

describe('a payment that was settled before the request', () => {
  test('buys nothing from another merchant with the same recipient: verify and settle agree', async () => {
    const [first, second] = [await facilitatorWithClient({ rpcUrl }), await facilitatorWithClient({ rpcUrl })]
    const payer = await newPayer(rpcUrl)
    const body = await paymentRequest(payer)
    expect(await first.settle(body)).toMatchObject({ success: true })
    await second.expectRefused(body, spent)
    expect(await transfersFrom(rpcUrl, payer.address)).toHaveLength(1)
  })

  type Message = Parameters<Parameters<typeof startNode>[0]>[0][number]
  const TOO_MANY = { code: -32005, message: 'rate limit exceeded' }

  /** The message as a node takes it whose newest block is `newest`. */
  const asOf = (newest: string, message: Message) => ({
    ...message,
    params: message.params.map((param) => (param === 'latest' || param === 'pending' ? newest : param)),
  })

  test.each<[string, (newest: string) => ((message: Message) => unknown)[]]>([
    [
      'the node that verifies it lags behind another of the network',
      (newest) => [
        ({ id, ...message }) =>
          message.method === 'eth_blockNumber'
            ? { jsonrpc: '2.0', id, result: newest }
            : forward(rpcUrl, asOf(newest, { id, ...message })),
        (message) => forward(rpcUrl, message),
      ],
    ],
    [
      'its node shows a block before the state of it',
      (newest) => [
        (message) => forward(rpcUrl, message.method === 'eth_call' ? asOf(newest, message) : message),
      ],
    ],
    [
      'a node states its height and answers no calls, and the other one lags',
      (newest) => [
        (message) =>
          message.method === 'eth_call'
            ? { jsonrpc: '2.0', id: message.id, error: TOO_MANY }
            : forward(rpcUrl, message),
        ({ id, ...message }) => {
          if (message.method === 'eth_blockNumber') return { jsonrpc: '2.0', id, result: newest }
          const [, at] = message.params
          if (message.method === 'eth_call' && typeof at === 'string' && Number(at) > Number(newest))
            return { jsonrpc: '2.0', id, error: { code: -32000, message: 'header not found' } }
          return forward(rpcUrl, asOf(newest, { id, ...message }))
        },
      ],
    ],
  ])('buys nothing where %s', async (_, answersFor) => {
    const payer = await newPayer(rpcUrl)
    const body = await paymentRequest(payer)
    const old = BigInt((await callRpc(rpcUrl, 'eth_blockNumber')) as string)
    await sendAuthorization(rpcUrl, body)
    let isBehind = true
    const urls = await Promise.all(
      answersFor(`0x${old.toString(16)}`).map((answer) =>
        startNode((messages) =>
          messages.map((message) => (isBehind ? answer(message) : forward(rpcUrl, message))),
        ),
      ),
    )
    const { facilitator, settle, settleAtLast } = await facilitatorWithClient({
      rpcUrl: urls[0] ?? '',
      moreRpcUrls: urls.slice(1),
      chainUrl: rpcUrl,
      variables: { SETTLE_TIMEOUT_SECONDS: '1' },
    })
    // By the old state it is good, and claimed.
    await settle(body)
    expect(await facilitator.database.prisma.settlement.count()).toBe(1)
    isBehind = false
    expect(await settleAtLast(body)).toMatchObject({ success: false, errorReason: spent, transaction: '' })
    expect(await transfersFrom(rpcUrl, payer.address)).toHaveLength(1)
  })
})

test('a use that is mined after our claim pays, also where our own was mined first and a failed claim is made again', async () => {
  const paused = await withManualMining()
  const payer = await newPayer(paused.rpcUrl)
  const body = await paymentRequest(payer, { authorization: { validBefore: inSeconds(600) } })
  const settling = paused.settle(body)
  await paused.onTheirWay(1)
  const theirs = await outbid(paused.rpcUrl, body)
  await paused.mine()
  expect(await settling).toMatchObject({ success: true, transaction: theirs })

  // As if a node had made us believe that nothing would come of it: the claim is as old as it was.
  await paused.pool.query(
    "UPDATE settlements SET status = 'failed', error_reason = 'payment_expired', success_reported_at = NULL",
  )
  expect(await paused.settle(body)).toMatchObject({ success: true, transaction: theirs })
  await paused.pool.query(
    "UPDATE settlements SET status = 'failed', error_reason = 'payment_expired', success_reported_at = NULL, seen_block = 1000",
  )
  expect(await paused.settle(body)).toMatchObject({ success: false, errorReason: 'payment_expired' })
})

test('verifying a payment that was paid after its failed claim does not hide that it was paid', async () => {
  const paused = await withManualMining()
  const payer = await newPayer(paused.rpcUrl)
  const body = await paymentRequest(payer, { authorization: { validBefore: inSeconds(600) } })
  const settling = paused.settle(body)
  await paused.onTheirWay(1)
  const theirs = await outbid(paused.rpcUrl, body)
  await paused.mine()
  expect(await settling).toMatchObject({ success: true, transaction: theirs })
  await paused.pool.query(
    "UPDATE settlements SET status = 'failed', error_reason = 'payment_expired', success_reported_at = NULL",
  )
  const verified = await paused.facilitator.api.post('/api/v1/verify').set(paused.client).send(body)
  expect(verified.body).toMatchObject({ isValid: false, invalidReason: spent })
  expect(await paused.settle(body)).toMatchObject({ success: true, transaction: theirs })
})

test('a repeated request of a payment that was settled before its failed claim costs no node call', async () => {
  const { settle, made, facilitator } = await counted()
  const payer = await newPayer(rpcUrl)
  const body = await paymentRequest(payer, { authorization: { validBefore: inSeconds(600) } })
  expect(await settle(body)).toMatchObject({ success: true })
  await facilitator.database.pool.query(
    `UPDATE settlements SET status = 'failed', error_reason = 'payment_expired', success_reported_at = NULL,
       unspent_at_block = 0, seen_block = 1000000`,
  )
  expect(await settle(body)).toMatchObject({ success: false, errorReason: 'payment_expired' })
  made()
  for (let times = 0; times < 5; times++)
    expect(await settle(body)).toMatchObject({ success: false, errorReason: 'payment_expired' })
  // What watches the last blocks may ask of them meanwhile.
  expect(made().filter((method) => method === 'eth_call' || method === 'eth_getLogs')).toEqual([])
})

test.each([5_000n, 2n ** 70n])(
  'a payer’s own transfer that we send pays, though another node of the network states %s blocks more',
  async (more) => {
    const high = await startNode((messages) =>
      messages.map(async (message) => {
        const answer = (await forward(rpcUrl, message)) as { result: string }
        if (message.method !== 'eth_blockNumber') return answer
        return { ...answer, result: `0x${(BigInt(answer.result) + more).toString(16)}` }
      }),
    )
    const { settle } = await facilitatorWithClient({
      rpcUrl,
      moreRpcUrls: [high],
      variables: { SETTLE_TIMEOUT_SECONDS: '30' },
    })
    const body = await rawRequest(rawOf(await newSender(rpcUrl)))
    expect(await settle(body)).toMatchObject({ success: true })
  },
)

test('a payer’s own transfer that we sent pays, also in a block no higher than at its claim, after a reorg', async () => {
  const paused = await withManualMining()
  const payer = await newSender(paused.rpcUrl)
  await callRpc(paused.rpcUrl, 'anvil_mine', '0x5')
  const claimedAt = BigInt((await callRpc(paused.rpcUrl, 'eth_blockNumber')) as string)
  const raw = rawOf(payer)
  const settling = paused.settle(await rawRequest(raw))
  await paused.onTheirWay(1)
  await callRpc(paused.rpcUrl, 'anvil_rollback', 3)
  // The node may have kept it.
  await callRpc(paused.rpcUrl, 'eth_sendRawTransaction', raw).catch(() => undefined)
  await paused.mine()
  const told = await settling
  expect(told).toMatchObject({ success: true })
  expect(told.blockNumber).toBeLessThan(Number(claimedAt))
})

test('another authorization with the nonce of one that expired here, used elsewhere since, buys nothing', async () => {
  const paused = await withManualMining()
  const payer = await newPayer(paused.rpcUrl)
  const first = await paymentRequest(payer, { authorization: { validBefore: inSeconds(600) } })
  const { nonce, to } = first.paymentPayload.payload.authorization
  const second = await paymentRequest(payer, {
    requirements: { payTo: to },
    authorization: { nonce, validBefore: inSeconds(900) },
  })
  const settling = paused.settle(first)
  await paused.onTheirWay(1)
  const theirs = await outbid(paused.rpcUrl, second)
  await paused.mine()
  await settling
  await paused.pool.query(
    "UPDATE settlements SET status = 'failed', error_reason = 'payment_expired', success_reported_at = NULL",
  )
  expect(await paused.settle(second)).not.toMatchObject({ success: true })
  expect(theirs).toMatch(/^0x/)
})

describe('a repeated request of a spent authorization causes no search and few node calls', () => {
  type Spend = (payer: BaseWallet, body: PaymentRequest) => Promise<unknown>
  const ways: [string, Spend][] = [
    ['used', (_, body) => sendAuthorization(rpcUrl, body)],
    ['cancelled', cancel],
  ]
  test.each(ways)('%s a moment ago', async (_, spend) => {
    const { settle, verify, made } = await counted()
    const payer = await newPayer(rpcUrl)
    const body = await paymentRequest(payer)
    await spend(payer, body)
    made()
    expect(await settle(body)).toMatchObject({ success: false, errorReason: spent })
    const calls = made()
    expect(calls).not.toContain('eth_getLogs')
    expect(calls.length).toBeLessThanOrEqual(9)
    for (let times = 0; times < 5; times++)
      expect(await settle(body)).toMatchObject({ success: false, errorReason: spent })
    expect(await verify(body)).toMatchObject({ isValid: false, invalidReason: spent })
    expect(made()).toEqual([])
  })

  test('so long ago that no reorg gives it back: kept for as long as it could be settled, and no longer than seconds before', async () => {
    const { settle, made, facilitator } = await counted()
    const payer = await newPayer(rpcUrl)
    const body = await paymentRequest(payer, { authorization: { validBefore: inSeconds(3_000) } })
    await sendAuthorization(rpcUrl, body)
    const lives: number[] = []
    const set = facilitator.ephemeral.set.bind(facilitator.ephemeral)
    facilitator.ephemeral.set = (key, value, seconds) => {
      if (key.startsWith('spent ')) lives.push(seconds)
      return set(key, value, seconds)
    }
    await settle(body)
    const other = await paymentRequest(payer, { authorization: { validBefore: inSeconds(3_000) } })
    await sendAuthorization(rpcUrl, other)
    await callRpc(rpcUrl, 'anvil_mine', '0x41')
    await settle(other)
    expect(lives[0]).toBeLessThanOrEqual(30)
    expect(lives[1]).toBeGreaterThan(60)
    made()
    await settle(other)
    expect(made()).toEqual([])
  })
})
