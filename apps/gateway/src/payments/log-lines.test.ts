import { closeAll } from '@tollgate/testing'
import { once } from 'node:events'
import { testGateway, type TestGateway } from '../testing/gateway'

let gateway: TestGateway
beforeAll(async () => (gateway = await testGateway()))
afterAll(closeAll)

type Line = Record<string, unknown>
async function linesAbout(word: string, last = 'request'): Promise<Line[]> {
  for (;;) {
    const lines = gateway.log.lines().filter((line) => JSON.stringify(line).includes(word))
    if (lines.some(({ message }) => message === last)) return lines
    await once(gateway.log.stream, 'data')
  }
}
const paymentOf = async (wallet: string) => {
  const text = 'SELECT id FROM payments WHERE wallet = $1'
  return (await gateway.pool.query<{ id: string }>(text, [wallet])).rows[0]?.id
}

test('each log line of a payment has its id and the id of the request, which is also sent to the facilitator', async () => {
  const wallet = gateway.wallet()
  const { call } = await wallet.signIn()
  const requestId = `purchase-${wallet.address}`
  await call({ payment: await wallet.pay() })
    .set('X-Request-Id', requestId)
    .expect(200)
  const paymentId = await paymentOf(wallet.address)

  const messages = ['payment received', 'payment settled', 'credits granted']
  expect(await linesAbout(requestId)).toEqual([
    ...messages.map((message) => expect.objectContaining({ message, paymentId, requestId }) as Line),
    expect.objectContaining({ message: 'request', requestId }),
  ])
  expect((await linesAbout(paymentId!, 'credits granted')).map(({ message }) => message)).toEqual(messages)
  expect(gateway.facilitator.requestIds.at(-1)).toBe(requestId)
  expect(gateway.log.text()).not.toContain('[masked]')
})

test.each([
  ['a refusal', 'denied', 'payment refused'],
  ['an unknown outcome', 'error', 'payment outcome unknown'],
  ['a pending outcome', 'pending', 'payment pending'],
] as const)('the log line about %s has both ids', async (_, behaviour, message) => {
  const wallet = gateway.wallet()
  const { call } = await wallet.signIn()
  gateway.facilitator.next(behaviour)
  const requestId = `${behaviour}-${wallet.address}`
  await call({ payment: await wallet.pay() }).set('X-Request-Id', requestId)
  const paymentId = await paymentOf(wallet.address)
  expect(await linesAbout(requestId)).toContainEqual(
    expect.objectContaining({ message, paymentId, requestId }),
  )
})

test('a settle request of the reconciler has its own request id, in the log and at the facilitator', async () => {
  const wallet = gateway.wallet()
  const { call } = await wallet.signIn()
  gateway.facilitator.next('error')
  await call({ payment: await wallet.pay() }).expect(503)
  const paymentId = (await paymentOf(wallet.address))!
  await gateway.pool.query(
    "UPDATE payments SET next_attempt_at = now() - INTERVAL '1 second' WHERE id = $1",
    [paymentId],
  )
  await gateway.reconcile()
  const [settled] = (await linesAbout(paymentId, 'payment settled')).filter(
    ({ message }) => message === 'payment settled',
  )
  expect(settled).toMatchObject({ paymentId, requestId: gateway.facilitator.requestIds.at(-1) })
  expect(settled?.requestId).toMatch(/^[0-9a-f-]{36}$/)
})

test('a rejection before settlement is logged with its request and reason', async () => {
  const wallet = gateway.wallet()
  const { call } = await wallet.signIn()
  const payment = await wallet.pay(undefined, { value: '1' })
  await call({ payment }).set('X-Request-Id', 'unasked-1').expect(402)
  expect(await linesAbout('unasked-1')).toContainEqual(
    expect.objectContaining({
      message: 'payment rejected before settlement',
      wallet: wallet.address,
      reason: 'invalid_exact_evm_payload_authorization_value',
    }),
  )
})
