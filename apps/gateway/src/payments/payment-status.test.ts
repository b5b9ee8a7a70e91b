import { PaymentStatusAnswer } from '@tollgate/protocol'
import { closeAll } from '@tollgate/testing'
import { randomUUID } from 'node:crypto'
import { insertPayment } from '../testing/accounts'
import { testGateway, type TestGateway } from '../testing/gateway'
import { outcomeOf } from '../testing/outcome'
import { settlementOf } from '../testing/settlement'

let gateway: TestGateway
/** A gateway that has not asked the facilitator yet, nor paused after a failure. */
beforeEach(async () => {
  gateway = await testGateway()
})
afterEach(closeAll)

const settlement = settlementOf()

async function statusOf(wallet: string, id: string) {
  const answer = await gateway.api
    .get(`/payments/${wallet}/${id}`)
    .expect(200)
    .expect('cache-control', 'no-store')
  return PaymentStatusAnswer.parse(answer.body)
}

async function paymentAs(status: string, nonce = `0x${'0d'.repeat(32)}`) {
  const wallet = gateway.wallet().address
  return { wallet, id: await insertPayment(gateway.pool, { wallet, credits: 5, status, nonce }) }
}

test('a payment is shown from its signature to its credits', async () => {
  const wallet = gateway.wallet()
  const { call } = await wallet.signIn()
  gateway.facilitator.next('pending')
  await call({ payment: await wallet.pay() }).expect(503)
  const [payment] = (
    (await gateway.api.get(`/payments/${wallet.address}`)).body as { data: [{ id: string }] }
  ).data
  expect(await statusOf(wallet.address, payment.id)).toMatchObject({
    ...payment,
    status: 'settling',
    step: 'broadcast',
    confirmations: null,
    next: expect.stringContaining('do not sign again') as string,
  })
  await gateway.pool.query('UPDATE payments SET next_attempt_at = now() WHERE id = $1', [payment.id])
  await gateway.reconcile()
  expect(await statusOf(wallet.address.toLowerCase(), payment.id.toUpperCase())).toMatchObject({
    id: payment.id,
    status: 'credited',
    step: 'credited',
    block_number: 7,
    next: null,
  })
})

test('the facilitator, asked by payer and nonce, adds the transaction and its confirmations', async () => {
  const { wallet, id } = await paymentAs('settling')
  gateway.facilitator.show(settlement)
  expect(await statusOf(wallet, id)).toMatchObject({
    step: 'broadcast',
    status: 'settling',
    transaction: settlement.transaction,
    confirmations: 1,
    required_confirmations: 3,
    next: 'Wait: the transaction has 1 of 3 confirmations; do not sign again.',
  })
  const [list, one] = gateway.facilitator.lookups.map((path) => new URL(path, 'http://facilitator'))
  expect(Object.fromEntries(list!.searchParams)).toEqual({
    network: 'base-sepolia',
    asset: expect.any(String) as string,
    payer: wallet,
    limit: '1',
    nonce: `0x${'0d'.repeat(32)}`,
  })
  expect(one?.pathname).toBe('/api/v1/settlements/42')
})

test.each(['none', 'denied', 'hang', 'offline'] as const)(
  'a facilitator that tells nothing (%s) is not needed',
  async (how) => {
    if (how === 'offline') gateway.facilitator.disconnect()
    else gateway.facilitator.show(how)
    const { wallet, id } = await paymentAs('settling')
    for (let times = 0; times < 2; times++)
      expect(await statusOf(wallet, id)).toMatchObject({
        step: 'signed',
        transaction: null,
        confirmations: null,
      })
    if (how === 'denied') expect(gateway.facilitator.lookups).toHaveLength(1)
  },
)

test.each(['received', 'failed', 'disputed'])('a payment that is %s is not asked about', async (status) => {
  const { wallet, id } = await paymentAs(status)
  gateway.facilitator.show(settlement)
  expect(await statusOf(wallet, id)).toMatchObject({ status, confirmations: null })
  expect(gateway.facilitator.lookups).toEqual([])
})

test('a payment of another wallet, or of none, is 404; an id that is none is 400', async () => {
  const { wallet, id } = await paymentAs('credited')
  const other = gateway.wallet().address
  const get = async (owner: string, payment: string) =>
    outcomeOf(await gateway.api.get(`/payments/${owner}/${payment}`))
  expect(await get(other, id)).toEqual([404, 'NOT_FOUND'])
  expect(await get(wallet, randomUUID())).toEqual([404, 'NOT_FOUND'])
  for (const text of ['1', 'x', `${id}x`, '%00'])
    expect(await get(wallet, text)).toEqual([400, 'INVALID_REQUEST'])
  expect(await get('alice', id)).toEqual([400, 'INVALID_REQUEST'])
  expect(gateway.facilitator.lookups).toEqual([])
})
