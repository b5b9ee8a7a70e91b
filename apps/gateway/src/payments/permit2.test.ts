import { families } from '@tollgate/chains'
import { encodeJson } from '@tollgate/protocol'
import { closeAll } from '@tollgate/testing'
import { balanceOf, findViolations } from '../testing/accounts'
import { planOf } from '../testing/catalog'
import { testGateway, type TestGateway } from '../testing/gateway'
import { outcomeOf } from '../testing/outcome'
import { paymentHeader, signPayment, usdc, x402 } from '../testing/payment'
import { type TestWallet } from '../testing/wallet'

let gateway: TestGateway
beforeAll(async () => (gateway = await testGateway()))
afterEach(async () => expect(await findViolations(gateway.pool)).toEqual([]))
afterAll(closeAll)

const PROXY = '0x402085c248EeA27D92E8b30b2C58ed07f9E20001'
const permit2Address = '0x000000000022D473030F116dDEE9F6B43aC78BA3'
const domain = { name: 'Permit2', chainId: 84532, verifyingContract: permit2Address }
const transferTypes = {
  PermitWitnessTransferFrom: [
    { name: 'permitted', type: 'TokenPermissions' },
    { name: 'spender', type: 'address' },
    { name: 'nonce', type: 'uint256' },
    { name: 'deadline', type: 'uint256' },
    { name: 'witness', type: 'Witness' },
  ],
  TokenPermissions: [
    { name: 'token', type: 'address' },
    { name: 'amount', type: 'uint256' },
  ],
  Witness: [
    { name: 'to', type: 'address' },
    { name: 'validAfter', type: 'uint256' },
  ],
}
const permitSignature = `0x${'11'.repeat(64)}1b`

async function transferOf({ address, signer }: TestWallet) {
  const { pay_to, amount } = planOf()
  const deadline = String(Math.floor(Date.now() / 1000) + 120)
  const permit2Authorization = {
    from: address,
    permitted: { token: usdc, amount },
    spender: PROXY,
    nonce: '7',
    deadline,
    witness: { to: pay_to, validAfter: '0' },
  }
  const permit = { from: address, asset: usdc, spender: permit2Address, amount, nonce: '0', deadline }
  const signature = await signer.signTypedData(domain, transferTypes, permit2Authorization)
  return {
    signature,
    permit2Authorization,
    eip2612GasSponsoring: { info: { ...permit, signature: permitSignature, version: '1' } },
  }
}
type Transfer = Awaited<ReturnType<typeof transferOf>>

async function spoilt(wallet: TestWallet, changes: object) {
  const transfer = await transferOf(wallet)
  return encodeJson({ ...transfer, permit2Authorization: { ...transfer.permit2Authorization, ...changes } })
}

const wrapped = (payload: unknown) => ({ ...x402({} as never), payload })
const forms: [string, (transfer: Transfer) => string][] = [
  ['the x402 payload in base64', (transfer) => encodeJson(wrapped(transfer))],
  ['the same with its type', (transfer) => encodeJson(wrapped({ type: 'permit2', permit2: transfer }))],
  ['the same with its inner part in base64', (transfer) => encodeJson(wrapped(encodeJson(transfer)))],
  ['the payload and its requirements', (transfer) => encodeJson({ paymentPayload: wrapped(transfer) })],
  ['what was signed in base64', (transfer) => encodeJson(transfer)],
  ['what was signed as JSON', (transfer) => JSON.stringify(transfer)],
  ['its type and what was signed', (transfer) => encodeJson({ type: 'permit2', permit2: transfer })],
]

const pending = [503, 'PAYMENT_PENDING']
const askedSince = (before: number) => gateway.facilitator.calls.slice(before)
const noncesOf = async ({ address }: TestWallet) =>
  (
    await gateway.pool.query<{ nonce: string }>(
      'SELECT nonce FROM payments WHERE payer = $1 ORDER BY created_at',
      [address],
    )
  ).rows.map(({ nonce }) => nonce)

async function caller() {
  const wallet = gateway.wallet()
  return { wallet, ...(await wallet.signIn()), before: gateway.facilitator.calls.length }
}

describe('a payment by Permit2', () => {
  test.each(forms)("may be %s, and is sent unchanged, with the plan's requirements", async (_, write) => {
    const { wallet, call, before } = await caller()
    const transfer = await transferOf(wallet)
    gateway.facilitator.next('pending')
    expect(outcomeOf(await call({ payment: write(transfer) }))).toEqual(pending)
    const [{ request }, ...more] = askedSince(before) as [(typeof gateway.facilitator.calls)[number]]
    expect(more).toEqual([])
    expect(families.evm?.readPayment(request.paymentPayload.payload)).toEqual(
      families.evm?.readPayment(transfer),
    )
    const { pay_to, amount, asset_address } = planOf()
    expect(request.paymentRequirements).toMatchObject({
      payTo: pay_to,
      maxAmountRequired: amount,
      asset: asset_address,
    })
  })

  test('is one payment in each of these forms: settled once, and never answered with a new 402 while it is open', async () => {
    const { wallet, call, before } = await caller()
    gateway.facilitator.next('pending')
    for (const [, write] of forms)
      expect(outcomeOf(await call({ payment: write(await transferOf(wallet)) }))).toEqual(pending)
    expect(outcomeOf(await call())).toEqual(pending)
    expect(askedSince(before)).toHaveLength(1)
    expect(await noncesOf(wallet)).toEqual(['permit2 7'])
    expect(await balanceOf(gateway.ledger, wallet.address)).toBe(0n)
  })

  test('is distinct from an EIP-3009 payment with the same nonce', async () => {
    const { wallet, call, before } = await caller()
    const nonce = `0x${'7'.padStart(64, '0')}`
    gateway.facilitator.next('pending', 'pending')
    await call({ payment: encodeJson(await transferOf(wallet)) })
    const terms = { payTo: planOf().pay_to, amount: planOf().amount }
    await call({ payment: paymentHeader(await signPayment(wallet.signer, terms, { nonce })) })
    expect(askedSince(before)).toHaveLength(2)
    expect(await noncesOf(wallet)).toEqual(['permit2 7', nonce])
  })

  test('of another wallet buys nothing, without a settle request', async () => {
    const [owner, { call, before }] = [gateway.wallet(), await caller()]
    for (const [, write] of forms)
      expect((await call({ payment: write(await transferOf(owner)) })).status).toBe(402)
    expect(askedSince(before)).toEqual([])
    expect(await noncesOf(owner)).toEqual([])
  })

  test('that the facilitator refuses is answered 402, also when repeated, and buys nothing', async () => {
    const { wallet, call } = await caller()
    gateway.facilitator.next('denied')
    // Another second's deadline would be another authorization of the same nonce, which is asked for again.
    const transfer = await transferOf(wallet)
    for (const [, write] of forms) expect((await call({ payment: write(transfer) })).status).toBe(402)
    expect(await balanceOf(gateway.ledger, wallet.address)).toBe(0n)
  })

  test.each([
    ['invalid_transaction_state', false],
    ['invalid_exact_evm_payload_signature', false],
    ['duplicate_settlement', true],
  ])(
    'refused as %s is sent with another permit at once, unless it moved money: %s',
    async (reason, isFinal) => {
      const { wallet, call, before } = await caller()
      const { eip2612GasSponsoring, ...transfer } = await transferOf(wallet)
      gateway.facilitator.refuse(reason)
      const withoutPermit = { payment: encodeJson(transfer) }
      for (let times = 0; times < 2; times++) expect((await call(withoutPermit)).status).toBe(402)
      gateway.facilitator.refuse(undefined)
      gateway.facilitator.next('pending')
      const answer = outcomeOf(await call({ payment: encodeJson({ ...transfer, eip2612GasSponsoring }) }))
      expect(answer).toEqual(isFinal ? [402, undefined] : pending)
      const sent = askedSince(before).map(({ key, request }) => [
        key.slice(36),
        JSON.stringify(request).includes(permitSignature),
      ])
      expect(sent).toEqual(
        isFinal
          ? [['', false]]
          : [
              ['', false],
              ['.2', true],
            ],
      )
      const other = { ...eip2612GasSponsoring.info, signature: `0x${'22'.repeat(64)}1b` }
      await call({ payment: encodeJson({ ...transfer, eip2612GasSponsoring: { info: other } }) })
      expect(askedSince(before)).toHaveLength(sent.length)
    },
  )

  test.each<[string, (wallet: TestWallet) => Promise<string> | string]>([
    [
      'is a payload of version 2, which no 402 requires',
      async (wallet) => {
        const { eip2612GasSponsoring, ...payload } = await transferOf(wallet)
        const accepted = { scheme: 'exact', network: 'eip155:84532', amount: planOf().amount, asset: usdc }
        return encodeJson({ x402Version: 2, accepted, payload, extensions: { eip2612GasSponsoring } })
      },
    ],
    [
      'is also an authorization by EIP-3009',
      async (wallet) => {
        const terms = { payTo: planOf().pay_to, amount: planOf().amount }
        return encodeJson({ ...(await transferOf(wallet)), ...(await signPayment(wallet.signer, terms)) })
      },
    ],
    ['has no recipient', (wallet) => spoilt(wallet, { witness: { validAfter: '0' } })],
    ['has a nonce that is not a number', (wallet) => spoilt(wallet, { nonce: '7 ' })],
    ['has a nonce beyond all numbers', (wallet) => spoilt(wallet, { nonce: String(2n ** 256n) })],
    ['has a nonce that is spelled otherwise', (wallet) => spoilt(wallet, { nonce: '07' })],
    ['is nothing but a signature', () => encodeJson({ signature: permitSignature })],
    ['has a type and nothing else', () => encodeJson({ type: 'permit2', permit2: {} })],
  ])('that %s is 400, without a settle request', async (_, write) => {
    const { wallet, call, before } = await caller()
    expect(outcomeOf(await call({ payment: await write(wallet) }))).toEqual([400, 'INVALID_REQUEST'])
    expect(askedSince(before)).toEqual([])
    expect(await noncesOf(wallet)).toEqual([])
  })
})
