import { SignMode } from 'cosmjs-types/cosmos/tx/signing/v1beta1/signing'
import { openNode, type TestNode } from './testing/node'
import { aminoRefusals, appended, directRefusals, UNKNOWN_NON_CRITICAL } from './testing/refusal-cases'
import {
  balance,
  broadcast,
  deliver,
  FEE,
  fundedWallet,
  GAS,
  highS,
  newWallet,
  sendMessage,
  sequenceOf,
  signedTx,
  type Wallet,
} from './testing/tx'

let node: TestNode
let wallet: Wallet
beforeAll(async () => (node = await openNode()))
beforeEach(async () => (wallet = await fundedWallet(node)))
afterEach(() => node.call('dev_dropPending'))
afterAll(() => node.close())

const amino = SignMode.SIGN_MODE_LEGACY_AMINO_JSON

describe.each([
  ['DIRECT', directRefusals, {}],
  ['LEGACY_AMINO_JSON', aminoRefusals, { mode: amino }],
] as const)('a transaction in %s', (_, cases, common) => {
  test('is taken, as it comes from the wallet', async () => {
    expect(await deliver(node, signedTx(node, wallet, common))).toMatchObject({ code: 0, codespace: '' })
    expect(sequenceOf(node, wallet.address)).toBe(1n)
    expect(balance(node, wallet.address)).toBe(1_000_000n - BigInt(FEE.amount))
  })

  test.each(cases)('is refused with %s: %s %i', async (_what, codespace, code, overrides) => {
    const bytes = signedTx(node, wallet, { ...common, ...overrides(wallet) })
    const before = node.chain.appHash()

    const outcome = await broadcast(node, bytes)

    expect([outcome.codespace, outcome.code, outcome.log]).toEqual([
      codespace,
      code,
      expect.stringMatching(/.+/) as string,
    ])
    node.chain.mine()
    expect(node.chain.latest().txs).toEqual([])
    expect(balance(node, wallet.address)).toBe(1_000_000n)
    expect(sequenceOf(node, wallet.address)).toBe(0n)
    expect(node.chain.appHash()).toBe(before)
  })
})

test('an account that was never funded is unknown (9)', async () => {
  expect(await broadcast(node, signedTx(node, newWallet()))).toMatchObject({ codespace: 'sdk', code: 9 })
})

test('an Ethereum key signs for the address that its Keccak hash gives', async () => {
  const ethereum = await fundedWallet(node, '1000000uatom', 'ethsecp256k1')
  for (const mode of [SignMode.SIGN_MODE_DIRECT, amino])
    expect(await deliver(node, signedTx(node, ethereum, { mode }))).toMatchObject({ code: 0 })
  const high = signedTx(node, ethereum, { changeSignature: highS })
  expect(await broadcast(node, high)).toMatchObject({ code: 4 })
})

test('a field that is not critical may be unknown in a body that is signed as its bytes (ADR-020)', async () => {
  const bytes = signedTx(node, wallet, { changeBodyBytes: appended(UNKNOWN_NON_CRITICAL) })
  expect(await deliver(node, bytes)).toMatchObject({ code: 0 })
})

test('a memo of 256 bytes, with what Go escapes, verifies in both modes', async () => {
  for (const mode of [SignMode.SIGN_MODE_DIRECT, amino]) {
    const body = { memo: `<&>"\\\n\t€${'m'.repeat(246)}` }
    expect(Buffer.byteLength(body.memo)).toBe(256)
    expect(await deliver(node, signedTx(node, wallet, { body, mode }))).toMatchObject({ code: 0 })
  }
})

test.each([
  ['010', 8n],
  ['0x10', 16n],
  ['1_0', 10n],
  ['+5', 5n],
])('an amount of %s is what Go reads: %s', async (text, amount) => {
  const to = newWallet().address
  const bytes = signedTx(node, wallet, { messages: [sendMessage(wallet.address, to, text)] })
  expect(await deliver(node, bytes)).toMatchObject({ code: 0 })
  expect(balance(node, to)).toBe(amount)
})

test('an address in upper case is the same account', async () => {
  const to = newWallet().address
  const bytes = signedTx(node, wallet, { messages: [sendMessage(wallet.address, to.toUpperCase(), '3')] })
  expect(await deliver(node, bytes)).toMatchObject({ code: 0 })
  expect(balance(node, to)).toBe(3n)
})

test('a gas price that the operator raised is asked for', async () => {
  await node.call('dev_setMinimumGasPrice', '0.1uatom')
  try {
    expect(await broadcast(node, signedTx(node, wallet))).toMatchObject({
      code: 13,
      log: `insufficient fees; got: 5000uatom required: ${GAS / 10n}uatom: insufficient fee`,
    })
  } finally {
    await node.call('dev_setMinimumGasPrice', '0.025uatom')
  }
})

test('a node that was just started takes accounts for those of the genesis, until its first block', async () => {
  const bytes = signedTx(node, wallet)
  await node.call('dev_restart')
  expect(await broadcast(node, bytes)).toMatchObject({
    code: 4,
    codespace: 'sdk',
    log: expect.stringContaining('please verify account number (0)') as string,
  })
  await node.call('dev_mine', '1')
  expect(await broadcast(node, bytes)).toMatchObject({ code: 0 })
})
