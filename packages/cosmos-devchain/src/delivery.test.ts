import { MsgMultiSend } from 'cosmjs-types/cosmos/bank/v1beta1/tx'
import { Any } from 'cosmjs-types/google/protobuf/any'
import { moduleAddress } from './app/address'
import { openNode, type TestNode } from './testing/node'
import {
  balance,
  broadcast,
  deliver,
  fundedWallet,
  GAS,
  highS,
  newWallet,
  sendMessage,
  sequenceOf,
  signedTx,
  type TxOverrides,
  type Wallet,
} from './testing/tx'

let node: TestNode
let wallet: Wallet
let to: string
beforeAll(async () => (node = await openNode()))
beforeEach(async () => {
  wallet = await fundedWallet(node)
  to = newWallet().address
})
afterEach(() => node.call('dev_dropPending'))
afterAll(() => node.close())

const MILLION = 1_000_000n
const FEE_PAID = 5000n
const resultOf = (hash: string) => node.chain.index.get(hash)?.result
const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64')

describe('a message that fails in its block', () => {
  test.each([
    ['more than there is', () => sendMessage(wallet.address, to, '1000001'), 'sdk', 5],
    ['nothing', () => sendMessage(wallet.address, to, '0'), 'sdk', 10],
    ['less than nothing', () => sendMessage(wallet.address, to, '-5'), 'sdk', 10],
    ['a denom that is none', () => sendMessage(wallet.address, to, '5', '!'), 'sdk', 10],
    ['to what is no address', () => sendMessage(wallet.address, 'cosmos1nobody', '5'), 'sdk', 7],
    [
      'to the collector of fees',
      () => sendMessage(wallet.address, moduleAddress('fee_collector'), '5'),
      'sdk',
      4,
    ],
    ['to many with sums that differ', () => multiSend(wallet.address, '5', [[to, '4']]), 'bank', 4],
    ['without recipients', () => multiSend(wallet.address, '5', []), 'bank', 3],
  ])('was taken, and spends the fee and the sequence alone: %s', async (_, message, codespace, code) => {
    const outcome = await deliver(node, signedTx(node, wallet, { messages: [message()] }))

    expect([outcome.codespace, outcome.code]).toEqual([codespace, code])
    expect(balance(node, wallet.address)).toBe(MILLION - FEE_PAID)
    expect(balance(node, to)).toBe(0n)
    expect(sequenceOf(node, wallet.address)).toBe(1n)
  })

  test('takes the messages before it back', async () => {
    const messages = [sendMessage(wallet.address, to, '5'), sendMessage(wallet.address, to, '1000000')]
    expect(await deliver(node, signedTx(node, wallet, { messages }))).toMatchObject({
      code: 5,
      log: expect.stringMatching(/^failed to execute message; message index: 1: /) as string,
    })
    expect(balance(node, to)).toBe(0n)
  })

  test('by want of gas costs the fee too', async () => {
    const bytes = signedTx(node, wallet, { fee: { gasLimit: 65_000n } })
    expect(await deliver(node, bytes)).toMatchObject({ codespace: 'sdk', code: 11 })
    expect(balance(node, wallet.address)).toBe(MILLION - FEE_PAID)
    expect(sequenceOf(node, wallet.address)).toBe(1n)
  })

  test('for a denom that may not be sent', async () => {
    await node.call('dev_fund', wallet.address, '9ufrozen')
    await node.call('dev_setSendEnabled', 'ufrozen', false)
    const messages = [sendMessage(wallet.address, to, '5', 'ufrozen')]
    expect(await deliver(node, signedTx(node, wallet, { messages }))).toMatchObject({
      codespace: 'bank',
      code: 5,
    })
    await node.call('dev_setSendEnabled', 'ufrozen', true)
    expect(await deliver(node, signedTx(node, wallet, { messages }))).toMatchObject({ code: 0 })
  })
})

test('all messages of a transaction count, also those sent to many', async () => {
  const messages = [
    sendMessage(wallet.address, to, '1'),
    sendMessage(wallet.address, to, '2'),
    multiSend(wallet.address, '7', [
      [to, '4'],
      [wallet.address, '3'],
    ]),
  ]
  expect(await deliver(node, signedTx(node, wallet, { messages, fee: { gasLimit: GAS } }))).toMatchObject({
    code: 0,
  })
  expect(balance(node, to)).toBe(7n)
  expect(balance(node, wallet.address)).toBe(MILLION - FEE_PAID - 7n)
})

test('the events have the fee, sequence, signature and transfer as in the SDK', async () => {
  const bytes = signedTx(node, wallet, { messages: [sendMessage(wallet.address, to, '5')] })
  const { hash } = await deliver(node, bytes)
  const from = wallet.address
  const actual = resultOf(hash)?.events.map(({ type, attributes }) => [
    type,
    Object.fromEntries(attributes.map(({ key, value }) => [key, value])),
  ])
  expect(actual).toEqual([
    ['coin_spent', { spender: from, amount: '5000uatom' }],
    ['coin_received', { receiver: moduleAddress('fee_collector'), amount: '5000uatom' }],
    ['transfer', { recipient: moduleAddress('fee_collector'), sender: from, amount: '5000uatom' }],
    ['message', { sender: from }],
    ['tx', { fee: '5000uatom', fee_payer: from }],
    ['tx', { acc_seq: `${from}/0` }],
    ['tx', { signature: expect.stringMatching(/^[\w+/]{86}==$/) as string }],
    ['message', { action: '/cosmos.bank.v1beta1.MsgSend', sender: from, module: 'bank', msg_index: '0' }],
    ['coin_spent', { spender: from, amount: '5uatom', msg_index: '0' }],
    ['coin_received', { receiver: to, amount: '5uatom', msg_index: '0' }],
    ['transfer', { recipient: to, sender: from, amount: '5uatom', msg_index: '0' }],
    ['message', { sender: from, msg_index: '0' }],
  ])
})

describe('what waits', () => {
  test('may be a row of one account, in the order of its sequences, and is in the next block in that order', async () => {
    const row = [0n, 1n, 2n].map((sequence) => signedTx(node, wallet, { sequence }))
    for (const bytes of row) expect(await broadcast(node, bytes)).toMatchObject({ code: 0 })
    expect(
      await broadcast(node, signedTx(node, wallet, { sequence: 2n, body: { memo: 'again' } })),
    ).toMatchObject({
      code: 32,
      log: 'account sequence mismatch, expected 3, got 2: incorrect account sequence',
    })
    expect(await node.call('num_unconfirmed_txs')).toMatchObject({ n_txs: '3', total: '3' })

    node.chain.mine()

    expect(node.chain.latest().txs.map(base64)).toEqual(row.map(base64))
    expect(sequenceOf(node, wallet.address)).toBe(3n)
    expect(await node.call('num_unconfirmed_txs')).toMatchObject({ n_txs: '0' })
  })

  test('is not taken a second time, while it waits or after it succeeded', async () => {
    const bytes = signedTx(node, wallet)
    await broadcast(node, bytes)
    await expect(broadcast(node, bytes)).rejects.toThrow('Internal error')
    node.chain.mine()
    await expect(broadcast(node, bytes)).rejects.toThrow('Internal error')
    await node.call('dev_dropPending')
    expect(await broadcast(node, bytes)).toMatchObject({ code: 32 })
  })

  test('spends what it will spend: a second transaction cannot pay its fee with it', async () => {
    const poor = await fundedWallet(node, '7000uatom')
    expect(await broadcast(node, signedTx(node, poor))).toMatchObject({ code: 0 })
    expect(await broadcast(node, signedTx(node, poor, { sequence: 1n }))).toMatchObject({ code: 5 })
    node.chain.mine()
  })

  test('is dropped after a block that it no longer holds after', async () => {
    const height = BigInt(node.chain.latest().header.height)
    const short = signedTx(node, wallet, { body: { timeoutHeight: height } })
    expect(await broadcast(node, short)).toMatchObject({ code: 0 })
    await node.call('dev_fund', to, '1uatom')
    expect(await node.call('num_unconfirmed_txs')).toMatchObject({ total: '0' })
  })

  test('is forgotten when the node drops it on request, and may come again', async () => {
    const bytes = signedTx(node, wallet)
    await broadcast(node, bytes)
    expect(await node.call('dev_dropPending')).toEqual({ dropped: 1 })
    node.chain.mine()
    expect(node.chain.latest().txs).toEqual([])
    expect(await deliver(node, bytes)).toMatchObject({ code: 0 })
  })
})

describe('what fails its checks in its block is in it, and spends nothing', () => {
  test('because its time is over by then', async () => {
    const timeoutHeight = BigInt(node.chain.latest().header.height)

    const { hash } = await deliver(node, signedTx(node, wallet, { body: { timeoutHeight } }))

    expect(resultOf(hash)).toMatchObject({ codespace: 'sdk', code: 30, events: [] })
    expect([balance(node, wallet.address), sequenceOf(node, wallet.address)]).toEqual([MILLION, 0n])
  })

  test('because the transaction before it took its fee; its very bytes may succeed later, and are found then', async () => {
    const poor = await fundedWallet(node, '11000uatom')
    const first = signedTx(node, poor, { messages: [sendMessage(poor.address, to, '6000')] })
    const second = signedTx(node, poor, { sequence: 1n, messages: [sendMessage(poor.address, to, '1')] })
    await broadcast(node, first)
    const { hash } = await broadcast(node, second)
    node.chain.mine()
    expect(resultOf(hash)).toMatchObject({ codespace: 'sdk', code: 5, events: [] })
    expect([balance(node, poor.address), sequenceOf(node, poor.address)]).toEqual([0n, 1n])

    await node.call('dev_fund', poor.address, '6000uatom')
    expect(await deliver(node, second)).toMatchObject({ code: 0, hash })

    expect(resultOf(hash)).toMatchObject({ code: 0 })
    expect([balance(node, poor.address), sequenceOf(node, poor.address)]).toEqual([999n, 2n])
  })
})

test('a transaction is valid up to its timeout height and in the block of it', async () => {
  const height = BigInt(node.chain.latest().header.height)
  expect(await deliver(node, signedTx(node, wallet, { body: { timeoutHeight: height + 1n } }))).toMatchObject(
    { code: 0 },
  )
  expect(await broadcast(node, signedTx(node, wallet, { body: { timeoutHeight: height } }))).toMatchObject({
    code: 30,
  })
})

test('a simulation checks the sequence and the coins, and neither signature nor fee; it changes nothing', async () => {
  const attempt = (overrides: TxOverrides = {}) => {
    const free = { fee: { amount: [], gasLimit: 0n }, changeSignature: () => new Uint8Array() }
    return node.chain.mempool.simulate(signedTx(node, wallet, { ...free, ...overrides }))
  }
  const before = node.chain.appHash()
  const simulated = attempt()
  expect(simulated).toMatchObject({ code: 0 })
  expect(attempt({ sequence: 5n })).toMatchObject({ code: 32 })
  expect(attempt({ messages: [sendMessage(wallet.address, to, '9999999')] })).toMatchObject({ code: 5 })
  expect(node.chain.appHash()).toBe(before)

  const { hash } = await deliver(node, signedTx(node, wallet))

  const share = Number(simulated.gasUsed) / Number(resultOf(hash)?.gasUsed)
  expect(share).toBeGreaterThan(0.75)
  expect(share).toBeLessThan(1.1)
})

test('a refusal takes nothing of what a later transaction may spend', async () => {
  const poor = await fundedWallet(node, '5001uatom')
  for (let i = 0; i < 3; i++) {
    const forged = signedTx(node, poor, { body: { memo: String(i) }, changeSignature: highS })
    expect(await broadcast(node, forged)).toMatchObject({ code: 4 })
  }
  expect(await deliver(node, signedTx(node, poor))).toMatchObject({ code: 0 })
})

test('gas is the same for the same transaction', async () => {
  const used = []
  for (const each of [await fundedWallet(node), await fundedWallet(node)]) {
    const bytes = signedTx(node, each, { messages: [sendMessage(each.address, newWallet().address, '5')] })
    used.push(resultOf((await deliver(node, bytes)).hash)?.gasUsed)
  }
  expect(used[0]).toBe(used[1])
  expect(Number(used[0])).toBeGreaterThan(70_000)
  expect(Number(used[0])).toBeLessThan(110_000)
})

function multiSend(from: string, amount: string, outputs: [string, string][]) {
  const coins = (text: string) => [{ denom: 'uatom', amount: text }]
  const value = MsgMultiSend.encode({
    inputs: [{ address: from, coins: coins(amount) }],
    outputs: outputs.map(([address, part]) => ({ address, coins: coins(part) })),
  }).finish()
  return Any.fromPartial({ typeUrl: '/cosmos.bank.v1beta1.MsgMultiSend', value })
}
