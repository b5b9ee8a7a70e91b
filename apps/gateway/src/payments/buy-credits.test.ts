import { decodeJson, SettleResult } from '@tollgate/protocol'
import { closeAll } from '@tollgate/testing'
import { balanceOf, findViolations } from '../testing/accounts'
import { planOf } from '../testing/catalog'
import { testGateway, type TestGateway } from '../testing/gateway'
import { outcomeOf } from '../testing/outcome'
import { paymentHeader, signPayment } from '../testing/payment'
import { getRefusingUrl } from '../testing/upstream'
import { createCall, type TestWallet } from '../testing/wallet'

let gateway: TestGateway
let replica: TestGateway
beforeAll(async () => {
  gateway = await testGateway()
  replica = await testGateway({ beside: gateway })
  gateway.catalog.plans.push(planOf({ id: 2, plan_name: 'Other' }), planOf({ id: 3, amount: '20000' }))
  await gateway.reapply()
})
afterEach(async () => {
  await gateway.ledger.drain()
  expect(await findViolations(gateway.pool)).toEqual([])
})
afterAll(closeAll)

const settlementsOf = ({ address }: TestWallet) =>
  gateway.facilitator.settlements.filter(({ request }) => JSON.stringify(request).includes(address))
const settleRequestsOf = ({ address }: TestWallet) =>
  gateway.facilitator.calls.filter(({ request }) => JSON.stringify(request).includes(address))
const paymentsOf = async ({ address }: TestWallet) =>
  (
    await gateway.pool.query<Record<string, unknown>>(
      'SELECT * FROM payments WHERE payer = $1 OR wallet = $1',
      [address],
    )
  ).rows
const receiptIn = ({ headers }: { headers: Record<string, unknown> }) =>
  SettleResult.parse(
    JSON.parse(Buffer.from(String(headers['x-payment-response']), 'base64').toString('ascii')),
  )
const failure = ({ address }: TestWallet, errorReason: string): SettleResult => ({
  success: false,
  errorReason,
  transaction: '',
  network: 'base-sepolia',
  payer: address,
  blockNumber: 0,
  timestamp: expect.any(String) as string,
})
const creditsOf = ({ address }: TestWallet, planId = 1) => balanceOf(gateway.ledger, address, planId)

describe('a call with a payment', () => {
  test('is charged once by the plan’s own terms, credited, and served in the same request', async () => {
    const wallet = gateway.wallet()
    const { call } = await wallet.signIn()
    const payment = await wallet.pay()
    const answer = await call({ payment })

    expect([answer.status, answer.body]).toEqual([200, { jsonrpc: '2.0', id: 1, result: '0x1' }])
    expect(answer.headers['x-credits-remaining']).toBe('99')
    const [settlement] = settlementsOf(wallet)
    const [row] = await paymentsOf(wallet)
    expect(settlement).toEqual({
      key: row!.id,
      request: {
        x402Version: 1,
        paymentPayload: decodeJson(payment),
        paymentRequirements: {
          scheme: 'exact',
          network: 'base-sepolia',
          maxAmountRequired: '10000',
          resource: 'https://gateway.example/rpc',
          description: '100 credits for RPC calls (plan Starter)',
          mimeType: 'application/json',
          payTo: planOf().pay_to,
          maxTimeoutSeconds: 60,
          asset: planOf().asset_address,
          extra: { name: 'USDC', version: '2' },
        },
      },
    })
    expect(row).toMatchObject({
      status: 'credited',
      wallet: wallet.address,
      payer: wallet.address,
      credits: 100,
    })
    const receipt = SettleResult.parse(decodeJson(String(answer.headers['x-payment-response'])))
    expect(receipt).toMatchObject({
      success: true,
      transaction: row!.transaction,
      network: 'base-sepolia',
      payer: wallet.address,
      blockNumber: 7,
      errorReason: '',
    })
    const { signature } = settlement!.request.paymentPayload.payload as { signature: string }
    expect(gateway.log.text()).not.toContain(signature)
    expect(gateway.log.text()).not.toContain(payment)
  })

  test('buys more credits while some remain', async () => {
    const wallet = gateway.wallet()
    await gateway.fund(wallet.address, 5)
    const { call } = await wallet.signIn()
    const answer = await call({ payment: await wallet.pay() }).expect(200)
    expect(answer.headers['x-credits-remaining']).toBe('104')
  })

  test('that was used before is not charged again, in any session, replica or plan', async () => {
    const wallet = gateway.wallet()
    const [first, second] = [await wallet.signIn(), await wallet.signIn()]
    const elsewhere = await wallet.signIn({ pricing_plan_id: 2 })
    const payment = await wallet.pay()
    const receipts = [
      await first.call({ payment }).expect(200),
      await first.call({ payment }).expect(200),
      await second.call({ payment }).expect(200),
      await createCall(replica.api, second.token)({ payment }).expect(200),
    ].map(({ headers }) => String(headers['x-payment-response']))
    expect(new Set(receipts).size).toBe(1)
    expect((await elsewhere.call({ payment })).status).toBe(402)
    expect([settlementsOf(wallet).length, settleRequestsOf(wallet).length]).toEqual([1, 1])
    expect([await creditsOf(wallet), await creditsOf(wallet, 2)]).toEqual([96n, 0n])
  })

  test('sent in twenty calls at once to two replicas is one purchase, and all calls are served', async () => {
    const wallet = gateway.wallet()
    const { token } = await wallet.signIn()
    const payment = await wallet.pay()
    const release = gateway.facilitator.hold()
    const calls = Array.from({ length: 20 }, (_, index) =>
      createCall((index % 2 ? replica : gateway).api, token)({ payment }).then(outcomeOf),
    )
    while (settleRequestsOf(wallet).length === 0) await new Promise(setImmediate)
    release()
    expect(await Promise.all(calls)).toEqual(calls.map(() => [200, undefined]))
    expect([settlementsOf(wallet).length, settleRequestsOf(wallet).length]).toEqual([1, 1])
    expect(await paymentsOf(wallet)).toHaveLength(1)
    expect(await creditsOf(wallet)).toBe(80n)
  })

  test('of another wallet buys nothing, and stays valid for its owner', async () => {
    const [owner, thief, thiefWithCredits] = [gateway.wallet(), gateway.wallet(), gateway.wallet()]
    await gateway.fund(thiefWithCredits.address, 5)
    const payment = await owner.pay()
    const refused = await (await thief.signIn()).call({ payment })
    expect(refused.status).toBe(402)
    expect((refused.body as { message: string }).message).toContain('not the wallet that is signed in')
    const served = await (await thiefWithCredits.signIn()).call({ payment }).expect(200)
    for (const answer of [refused, served])
      expect(receiptIn(answer)).toMatchObject({
        success: false,
        errorReason: 'invalid_payment',
        transaction: '',
        payer: owner.address,
      })
    expect([await creditsOf(thief), await creditsOf(thiefWithCredits)]).toEqual([0n, 4n])
    expect([await paymentsOf(owner), settleRequestsOf(owner)]).toEqual([[], []])

    await (await owner.signIn()).call({ payment }).expect(200)
    expect(await creditsOf(owner)).toBe(99n)
  })

  test('that is settled stays credited if the call is not served', async () => {
    const wallet = gateway.wallet()
    const chain_id = await gateway.chain(await getRefusingUrl())
    const answer = await (await wallet.signIn()).call({ chain_id, payment: await wallet.pay() })
    expect(outcomeOf(answer)).toEqual([500, 'UPSTREAM_FAILED'])
    expect(answer.headers['x-payment-response']).toBeDefined()
    expect(await creditsOf(wallet)).toBe(100n)
  })

  test('is not read if the call could not be served', async () => {
    const wallet = gateway.wallet()
    const { call } = await wallet.signIn()
    const payment = await wallet.pay()
    await call({ payment, chain_id: 'nowhere' }).expect(404)
    await call({ payment, resource: '../x' }).expect(400)
    expect(await paymentsOf(wallet)).toEqual([])
  })
})

describe('a refused payment', () => {
  test('by the facilitator is answered 402 with the reason, then and later, and nothing is charged', async () => {
    const wallet = gateway.wallet()
    const { call } = await wallet.signIn()
    const payment = await wallet.pay()
    gateway.facilitator.refuse('insufficient_funds')
    const refused = await call({ payment })
    gateway.facilitator.refuse(undefined)
    const again = await call({ payment })
    for (const answer of [refused, again]) {
      expect([answer.status, receiptIn(answer)]).toEqual([402, failure(wallet, 'insufficient_funds')])
      expect(answer.body).toMatchObject({
        status: 402,
        error: 'insufficient_funds',
        message: expect.stringMatching(/refused \(insufficient_funds\) and nothing was charged/) as string,
        paymentRequirements: { maxAmountRequired: '10000' },
      })
    }
    expect([settleRequestsOf(wallet).length, await creditsOf(wallet)]).toEqual([1, 0n])
    expect(await paymentsOf(wallet)).toEqual([expect.objectContaining({ status: 'failed' })])
    await call({ payment: await wallet.pay() }).expect(200)
  })

  test('as settled before by another client is not reported as free of charge', async () => {
    const wallet = gateway.wallet()
    gateway.facilitator.refuse('duplicate_settlement')
    const answer = await (await wallet.signIn()).call({ payment: await wallet.pay() })
    gateway.facilitator.refuse(undefined)
    expect(answer.body).toMatchObject({ status: 402, error: 'duplicate_settlement' })
    expect((answer.body as { message: string }).message).not.toContain('nothing was charged')
  })

  test('because it is malformed is also answered 402', async () => {
    const wallet = gateway.wallet()
    gateway.facilitator.next('denied')
    const answer = await (await wallet.signIn()).call({ payment: await wallet.pay() })
    expect([answer.status, (answer.body as { error: string }).error]).toEqual([402, 'invalid_payment'])
  })

  test.each([
    [
      'one unit less',
      { value: '9999' },
      'invalid_exact_evm_payload_authorization_value',
      /signed 0.009999 USDC, and exactly 0.01 USDC/,
    ],
    ['nothing', { value: '0' }, 'invalid_exact_evm_payload_authorization_value', /signed 0 USDC/],
    [
      'another recipient',
      { to: '0x0000000000000000000000000000000000000001' },
      'invalid_exact_evm_payload_recipient_mismatch',
      /somebody else/,
    ],
  ])('because it pays %s is refused, whatever its own requirements say', async (_, changes, reason, says) => {
    const wallet = gateway.wallet()
    const payment = await wallet.pay(planOf(), changes)
    const answer = await (await wallet.signIn()).call({ payment })
    expect([answer.status, (answer.body as { error: string }).error]).toEqual([402, reason])
    expect((answer.body as { message: string }).message).toMatch(says)
    expect(receiptIn(answer)).toMatchObject({
      errorReason: reason,
      errorMessage: expect.stringMatching(says) as string,
    })
    expect(settlementsOf(wallet)).toEqual([])
  })

  test('because another key signed it', async () => {
    const [wallet, forger] = [gateway.wallet(), gateway.wallet()]
    const forged = await signPayment(
      forger.signer,
      { payTo: planOf().pay_to, amount: '10000' },
      { from: wallet.address },
    )
    const answer = await (await wallet.signIn()).call({ payment: paymentHeader(forged) })
    expect([answer.status, (answer.body as { error: string }).error]).toEqual([
      402,
      'invalid_exact_evm_payload_signature',
    ])
    expect((answer.body as { message: string }).message).toContain(
      `not signed by ${wallet.address} in the EIP-712 domain name "USDC", version "2", chainId 84532, `,
    )
  })

  test('still lets the call be served on existing credits, and the receipt reports the refusal', async () => {
    const wallet = gateway.wallet()
    await gateway.fund(wallet.address, 2)
    gateway.facilitator.refuse('payment_expired')
    const answer = await (await wallet.signIn()).call({ payment: await wallet.pay() })
    gateway.facilitator.refuse(undefined)
    expect([answer.status, receiptIn(answer)]).toEqual([200, failure(wallet, 'payment_expired')])
    expect(await creditsOf(wallet)).toBe(1n)
  })

  test.each(['Zahlung abgelehnt: zu spät', 'x'.repeat(20_000), 'two\nlines'])(
    'with an invalid reason code gets a short ASCII one: %#',
    async (reason) => {
      const wallet = gateway.wallet()
      gateway.facilitator.refuse(reason)
      const answer = await (await wallet.signIn()).call({ payment: await wallet.pay() })
      gateway.facilitator.refuse(undefined)
      expect([answer.status, receiptIn(answer)]).toEqual([402, failure(wallet, 'invalid_payment')])
    },
  )
})

describe('the price of a plan', () => {
  test('is not charged for a call that it cannot cover, and is for one that it covers with the balance', async () => {
    const wallet = gateway.wallet()
    await gateway.fund(wallet.address, 20)
    const { call } = await wallet.signIn()
    const payment = await wallet.pay()
    const batch = (entries: number) => Array.from({ length: entries }, () => ({ method: 'eth_call' }))
    const refused = await call({ payload: batch(121), payment })
    expect(outcomeOf(refused)).toEqual([400, 'INVALID_REQUEST'])
    expect([await creditsOf(wallet), await paymentsOf(wallet)]).toEqual([20n, expect.any(Array)])
    expect(settleRequestsOf(wallet)).toEqual([])
    await call({ payload: batch(120), payment }).expect(200)
    expect(await creditsOf(wallet)).toBe(0n)
  })

  test('is not paid by a payment for a cheaper plan, which then buys nothing', async () => {
    const wallet = gateway.wallet()
    const payment = await wallet.pay(planOf({ id: 1 }))
    const costlier = await (await wallet.signIn({ pricing_plan_id: 3 })).call({ payment })
    expect([costlier.status, (costlier.body as { error: string }).error]).toEqual([
      402,
      'invalid_exact_evm_payload_authorization_value',
    ])
    expect(settlementsOf(wallet)).toEqual([])
  })
})
