import { encodeJson } from '@tollgate/protocol'
import { closeAll } from '@tollgate/testing'
import { Interface, Transaction } from 'ethers'
import { balanceOf, findViolations } from '../testing/accounts'
import { planOf } from '../testing/catalog'
import { testGateway, type TestGateway } from '../testing/gateway'
import { outcomeOf } from '../testing/outcome'
import { usdc } from '../testing/payment'
import { createCall, type TestWallet } from '../testing/wallet'

let gateway: TestGateway
beforeAll(async () => (gateway = await testGateway()))
afterEach(async () => expect(await findViolations(gateway.pool)).toEqual([]))
afterAll(closeAll)

const erc20 = new Interface(['function transfer(address to, uint256 amount)'])

function rawOf({ signer }: TestWallet, changes: object = {}): string {
  const { pay_to, amount } = planOf()
  const transaction = Transaction.from({
    type: 2,
    chainId: 84532,
    nonce: 0,
    to: usdc,
    data: erc20.encodeFunctionData('transfer', [pay_to, amount]),
    gasLimit: 100_000,
    maxFeePerGas: 10n ** 10n,
    maxPriorityFeePerGas: 10n ** 9n,
    ...changes,
  })
  transaction.signature = signer.signingKey.sign(transaction.unsignedHash)
  return transaction.serialized
}

const forms: [string, (raw: string) => string][] = [
  ['its hex', (raw) => raw],
  ['its hex in large letters', (raw) => `0x${raw.slice(2).toUpperCase()}`],
  ['base64 of its type and hex', (raw) => encodeJson({ type: 'raw_tx', rawTx: raw })],
  ['the same as JSON', (raw) => JSON.stringify({ type: 'rawTx', rawTx: raw })],
  [
    'the x402 payload around it',
    (raw) =>
      encodeJson({
        x402Version: 1,
        scheme: 'exact',
        network: 'base-sepolia',
        payload: { type: 'raw_tx', rawTx: raw },
      }),
  ],
]

const pending = [503, 'PAYMENT_PENDING']
const paymentsOf = async ({ address }: TestWallet) =>
  (
    await gateway.pool.query<{ status: string; nonce: string }>('SELECT * FROM payments WHERE payer = $1', [
      address,
    ])
  ).rows
const askedSince = (before: number) => gateway.facilitator.calls.slice(before)

describe('a payment by signed transaction', () => {
  test.each(forms)("may be %s, and is settled with the plan's requirements", async (_, write) => {
    const wallet = gateway.wallet()
    const { call } = await wallet.signIn()
    const before = gateway.facilitator.calls.length
    gateway.facilitator.next('pending')
    expect(outcomeOf(await call({ payment: write(rawOf(wallet)) }))).toEqual(pending)
    expect(await paymentsOf(wallet)).toMatchObject([{ status: 'settling' }])
    const [{ request }, ...more] = askedSince(before) as [(typeof gateway.facilitator.calls)[number]]
    expect(more).toEqual([])
    const { pay_to, amount, asset_address } = planOf()
    expect(request.paymentRequirements).toMatchObject({
      payTo: pay_to,
      maxAmountRequired: amount,
      asset: asset_address,
    })
    expect(JSON.stringify(request.paymentPayload.payload).toLowerCase()).toContain(rawOf(wallet).slice(2))
  })

  test('is one payment in each of these forms: settled once, and never answered with a new 402 while it is open', async () => {
    const wallet = gateway.wallet()
    const { call } = await wallet.signIn()
    const before = gateway.facilitator.calls.length
    gateway.facilitator.next('pending')
    for (const [, write] of forms)
      expect(outcomeOf(await call({ payment: write(rawOf(wallet)) }))).toEqual(pending)
    expect(outcomeOf(await call())).toEqual(pending)
    expect(askedSince(before)).toHaveLength(1)
    expect(await paymentsOf(wallet)).toHaveLength(1)
    expect(await balanceOf(gateway.ledger, wallet.address)).toBe(0n)
  })

  test('of another wallet buys nothing, without a settle request', async () => {
    const [owner, thief] = [gateway.wallet(), gateway.wallet()]
    const before = gateway.facilitator.calls.length
    const { call } = await thief.signIn()
    for (const [, write] of forms) expect((await call({ payment: write(rawOf(owner)) })).status).toBe(402)
    expect(askedSince(before)).toEqual([])
    expect(await paymentsOf(owner)).toEqual([])
  })

  test('that the facilitator refuses is answered 402, and buys nothing', async () => {
    const wallet = gateway.wallet()
    const { call } = await wallet.signIn()
    gateway.facilitator.next('denied')
    expect((await call({ payment: rawOf(wallet) })).status).toBe(402)
    expect(await balanceOf(gateway.ledger, wallet.address)).toBe(0n)
  })

  test('that was refused can be sent again, unchanged or re-signed, and is charged once', async () => {
    const wallet = gateway.wallet()
    const { call } = await wallet.signIn()
    const before = gateway.facilitator.calls.length
    gateway.facilitator.refuse('insufficient_funds')
    for (const payment of [rawOf(wallet), rawOf(wallet), rawOf(wallet, { gasLimit: 90_000 })])
      expect((await call({ payment })).body).toMatchObject({ status: 402, error: 'insufficient_funds' })
    gateway.facilitator.refuse(undefined)
    const payment = rawOf(wallet, { gasLimit: 80_000 })
    await call({ payment }).expect(200)
    await call({ payment }).expect(200)
    // The nonce is used, so no other payment can have it.
    await call({ payment: rawOf(wallet) }).expect(200)
    expect(await balanceOf(gateway.ledger, wallet.address)).toBe(97n)
    const asked = askedSince(before)
    expect(new Set(asked.map(({ key }) => key)).size).toBe(asked.length)
    expect((await paymentsOf(wallet)).map(({ status }) => status).sort()).toEqual([
      'credited',
      'failed',
      'failed',
      'failed',
    ])
  })

  test('that was refused and is sent again by twenty callers on two replicas is one purchase', async () => {
    const replica = await testGateway({ beside: gateway })
    const wallet = gateway.wallet()
    const { token, call } = await wallet.signIn()
    gateway.facilitator.refuse('insufficient_funds')
    const payment = rawOf(wallet)
    expect((await call({ payment })).status).toBe(402)
    gateway.facilitator.refuse(undefined)
    const before = gateway.facilitator.calls.length
    const calls = Array.from({ length: 20 }, (_, index) =>
      createCall((index % 2 ? replica : gateway).api, token)({ payment }).then(outcomeOf),
    )
    expect(await Promise.all(calls)).toEqual(calls.map(() => [200, undefined]))
    expect(askedSince(before)).toHaveLength(1)
    expect(await balanceOf(gateway.ledger, wallet.address)).toBe(80n)
  })

  test.each<[string, (wallet: TestWallet) => string]>([
    ['sends ether too', (wallet) => rawOf(wallet, { value: 1n })],
    ['creates a contract', (wallet) => rawOf(wallet, { to: null })],
    ['approves a spender', (wallet) => rawOf(wallet, { data: `0x095ea7b3${'0'.repeat(128)}` })],
    [
      'is good on any chain',
      (wallet) =>
        rawOf(wallet, { type: 0, chainId: 0, gasPrice: 1n, maxFeePerGas: null, maxPriorityFeePerGas: null }),
    ],
    ['has a byte too many', (wallet) => `${rawOf(wallet)}00`],
    ['is cut short', (wallet) => rawOf(wallet).slice(0, -2)],
    ['has an odd digit', (wallet) => `${rawOf(wallet)}0`],
    ['is nothing', () => '0x'],
    ['is a text that looks like one', () => `0x${'zz'.repeat(100)}`],
  ])('that %s is 400, without a settle request', async (_, forge) => {
    const wallet = gateway.wallet()
    const { call } = await wallet.signIn()
    const before = gateway.facilitator.calls.length
    expect(outcomeOf(await call({ payment: forge(wallet) }))).toEqual([400, 'INVALID_REQUEST'])
    expect(askedSince(before)).toEqual([])
    expect(await paymentsOf(wallet)).toEqual([])
  })
})
