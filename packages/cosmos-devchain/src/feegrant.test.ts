import {
  AllowedMsgAllowance,
  BasicAllowance,
  PeriodicAllowance,
} from 'cosmjs-types/cosmos/feegrant/v1beta1/feegrant'
import { MsgGrantAllowance, MsgRevokeAllowance } from 'cosmjs-types/cosmos/feegrant/v1beta1/tx'
import { QueryAllowanceRequest, QueryAllowanceResponse } from 'cosmjs-types/cosmos/feegrant/v1beta1/query'
import { Any } from 'cosmjs-types/google/protobuf/any'
import { timestampOf } from './app/time'
import { openNode, type TestNode } from './testing/node'
import {
  balance,
  broadcast,
  deliver,
  fundedWallet,
  newWallet,
  sendMessage,
  sequenceOf,
  signedTx,
  type TxOverrides,
  type Wallet,
} from './testing/tx'

let node: TestNode
let granter: Wallet
let grantee: Wallet
let to: string
beforeAll(async () => (node = await openNode()))
beforeEach(async () => {
  granter = await fundedWallet(node)
  grantee = await fundedWallet(node, '100uatom')
  to = newWallet().address
})
afterEach(() => node.call('dev_dropPending'))
afterAll(() => node.close())

const SEND = '/cosmos.bank.v1beta1.MsgSend'
const coins = (amount: number) => [{ denom: 'uatom', amount: String(amount) }]
const inMs = (ms: number) => timestampOf(Date.now() + ms)

function basic(spendLimit?: number, expiration = inMs(600_000)) {
  const allowance = BasicAllowance.fromPartial({
    spendLimit: spendLimit === undefined ? [] : coins(spendLimit),
    expiration,
  })
  return Any.fromPartial({
    typeUrl: '/cosmos.feegrant.v1beta1.BasicAllowance',
    value: BasicAllowance.encode(allowance).finish(),
  })
}

const narrowed = (allowance: Any, messages = [SEND]) =>
  Any.fromPartial({
    typeUrl: '/cosmos.feegrant.v1beta1.AllowedMsgAllowance',
    value: AllowedMsgAllowance.encode({ allowance, allowedMessages: messages }).finish(),
  })

const grantMessage = (allowance: Any) =>
  Any.fromPartial({
    typeUrl: '/cosmos.feegrant.v1beta1.MsgGrantAllowance',
    value: MsgGrantAllowance.encode({
      granter: granter.address,
      grantee: grantee.address,
      allowance,
    }).finish(),
  })

const revokeMessage = () =>
  Any.fromPartial({
    typeUrl: '/cosmos.feegrant.v1beta1.MsgRevokeAllowance',
    value: MsgRevokeAllowance.encode({ granter: granter.address, grantee: grantee.address }).finish(),
  })

const grant = (allowance: Any) =>
  deliver(node, signedTx(node, granter, { messages: [grantMessage(allowance)] }))

/** A send of one uatom whose fee the granter pays. */
function sponsored(overrides: TxOverrides = {}) {
  const { fee, ...others } = overrides
  return signedTx(node, grantee, {
    messages: [sendMessage(grantee.address, to, '1')],
    ...others,
    fee: { granter: granter.address, ...fee },
  })
}

function allowance() {
  const request = QueryAllowanceRequest.encode({
    granter: granter.address,
    grantee: grantee.address,
  }).finish()
  return node
    .call(
      'abci_query',
      '/cosmos.feegrant.v1beta1.Query/Allowance',
      Buffer.from(request).toString('hex'),
      '0',
      false,
    )
    .then((answer) => {
      const { code, value } = (answer as { response: { code: number; value: string | null } }).response
      return code === 0 ? QueryAllowanceResponse.decode(Buffer.from(value ?? '', 'base64')).allowance : code
    })
}

test('the fee comes from who granted it, and the coins from who sends them', async () => {
  expect(await grant(narrowed(basic(12_000)))).toMatchObject({ code: 0 })
  const before = balance(node, granter.address)

  expect(await deliver(node, sponsored())).toMatchObject({ code: 0 })

  expect(balance(node, granter.address)).toBe(before - 5000n)
  expect([balance(node, grantee.address), balance(node, to)]).toEqual([99n, 1n])
  const left = (await allowance()) as { allowance: Any }
  const inner = AllowedMsgAllowance.decode(left.allowance.value).allowance
  expect(BasicAllowance.decode(inner!.value).spendLimit).toEqual(coins(7000))
})

test('is spent for a transaction that its block fails too', async () => {
  await grant(basic(10_000))
  const messages = [sendMessage(grantee.address, to, '101')]
  expect(await deliver(node, sponsored({ messages }))).toMatchObject({ code: 5 })
  expect(await deliver(node, sponsored())).toMatchObject({ code: 0 })
  expect(await broadcast(node, sponsored())).toMatchObject({ codespace: 'sdk', code: 38 })
})

test('an allowance that is used up is gone, and may be granted again', async () => {
  await grant(narrowed(basic(5000)))
  expect(await grant(narrowed(basic(5000)))).toMatchObject({
    codespace: 'sdk',
    code: 18,
    log: expect.stringMatching(/fee allowance already exists/) as string,
  })
  expect(await deliver(node, sponsored())).toMatchObject({ code: 0 })
  expect(await allowance()).toBe(6)
  expect(await grant(narrowed(basic(5000)))).toMatchObject({ code: 0 })
})

test.each([
  ['another message than allowed', 'feegrant', 7, { messages: [revokeMessageOf] }],
  ['one message of two that is not allowed', 'feegrant', 7, { messages: [sendOf, revokeMessageOf] }],
  ['a fee over the limit', 'feegrant', 2, { fee: { amount: coins(12_001) } }],
  ['a fee in a coin that is not allowed', 'sdk', 13, { fee: { amount: [{ denom: 'uusdc', amount: '1' }] } }],
])(
  'refuses %s: %s %i',
  async (
    _,
    codespace,
    code,
    { messages, ...overrides }: { messages?: (() => Any)[] } & Omit<TxOverrides, 'messages'>,
  ) => {
    await grant(narrowed(basic(12_000)))
    const before = balance(node, granter.address)
    const bytes = sponsored({
      ...overrides,
      ...(messages && { messages: messages.map((message) => message()) }),
    })

    expect(await broadcast(node, bytes)).toMatchObject({ codespace, code })

    expect(balance(node, granter.address)).toBe(before)
    expect(sequenceOf(node, grantee.address)).toBe(0n)
  },
)

test('what waits counts: two transactions cannot spend the same allowance', async () => {
  await grant(basic(9000))
  expect(await broadcast(node, sponsored())).toMatchObject({ code: 0 })
  expect(await broadcast(node, sponsored({ sequence: 1n }))).toMatchObject({ codespace: 'feegrant', code: 2 })
  node.chain.mine()
})

test('an allowance that is over is refused in a block, and gone after it', async () => {
  await grant(basic(12_000, inMs(300)))
  const bytes = sponsored()
  const { hash, code } = await broadcast(node, bytes)
  expect(code).toBe(0)
  const over = Date.now() + 301
  while (Date.now() < over) await new Promise((resolve) => setTimeout(resolve, 10))
  node.chain.mine()
  expect(node.chain.index.get(hash)?.result).toMatchObject({ codespace: 'feegrant', code: 3 })
  expect(sequenceOf(node, grantee.address)).toBe(0n)
  expect(await allowance()).toBe(6)
  expect(await broadcast(node, sponsored())).toMatchObject({ codespace: 'sdk', code: 38 })
})

test('a granter who lacks the coins pays nothing (5), and one who revoked neither (38)', async () => {
  await grant(basic())
  await deliver(node, signedTx(node, granter, { messages: [sendMessage(granter.address, to, '989999')] }))
  expect(balance(node, granter.address)).toBe(1n)
  expect(await broadcast(node, sponsored())).toMatchObject({ codespace: 'sdk', code: 5 })
  await node.call('dev_fund', granter.address, '100000uatom')
  expect(await deliver(node, signedTx(node, granter, { messages: [revokeMessage()] }))).toMatchObject({
    code: 0,
  })
  expect(await broadcast(node, sponsored())).toMatchObject({ codespace: 'sdk', code: 38 })
})

test('a grant gives an address without an account one, so that it can sign', async () => {
  grantee = newWallet()
  expect(sequenceOf(node, grantee.address)).toBeUndefined()
  await grant(basic())
  expect(sequenceOf(node, grantee.address)).toBe(0n)
})

test.each([
  ['to oneself', () => grantMessageTo(granter.address), 'sdk', 7],
  ['that is over already', () => grantMessage(basic(5, timestampOf(Date.now() - 60_000))), 'sdk', 18],
  ['of nothing', () => grantMessage(basic(0)), 'sdk', 10],
  ['for no message', () => grantMessage(narrowed(basic(5), [])), 'feegrant', 6],
])('no allowance is granted %s', async (_, message, codespace, code) => {
  expect(await deliver(node, signedTx(node, granter, { messages: [message()] }))).toMatchObject({
    codespace,
    code,
  })
  expect(await allowance()).toBe(6)
})

test('a periodic allowance spends its period, and no more', async () => {
  const periodic = PeriodicAllowance.fromPartial({
    basic: { spendLimit: coins(20_000) },
    period: { seconds: 3600n },
    periodSpendLimit: coins(5000),
    periodCanSpend: coins(5000),
    periodReset: inMs(3_600_000),
  })
  const value = PeriodicAllowance.encode(periodic).finish()
  await grant(Any.fromPartial({ typeUrl: '/cosmos.feegrant.v1beta1.PeriodicAllowance', value }))
  expect(await deliver(node, sponsored())).toMatchObject({ code: 0 })
  expect(await broadcast(node, sponsored())).toMatchObject({
    codespace: 'feegrant',
    code: 2,
    log: expect.stringMatching(/period limit: fee limit exceeded/) as string,
  })
})

function revokeMessageOf() {
  const value = MsgRevokeAllowance.encode({ granter: grantee.address, grantee: granter.address }).finish()
  return Any.fromPartial({ typeUrl: '/cosmos.feegrant.v1beta1.MsgRevokeAllowance', value })
}

function sendOf() {
  return sendMessage(grantee.address, to, '1')
}

function grantMessageTo(address: string) {
  const value = MsgGrantAllowance.encode({
    granter: granter.address,
    grantee: address,
    allowance: basic(),
  }).finish()
  return Any.fromPartial({ typeUrl: '/cosmos.feegrant.v1beta1.MsgGrantAllowance', value })
}
