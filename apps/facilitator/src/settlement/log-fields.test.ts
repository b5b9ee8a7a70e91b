import { closeAll, readableLog } from '@tollgate/testing'
import { once } from 'node:events'
import { newPayer, sharedChain } from '../testing/chain'
import { newClient, testFacilitator } from '../testing/facilitator'
import { paymentRequest } from '../testing/payment'

afterAll(closeAll)

type Line = Record<string, unknown>

test('each line about a settlement is found by its id, by the payment of the gateway and by its request', async () => {
  const rpcUrl = sharedChain()
  const log = readableLog()
  const { api, database } = await testFacilitator({ log: log.stream })
  const client = await newClient(api)
  const [paymentId, requestId] = ['0c5b1f9e-6f0f-4a53-9f0a-9e64a26c1b1a', 'request-of-the-gateway']
  const settle = async (headers: object) =>
    api
      .post('/api/v1/settle')
      .set({ ...client, ...headers })
      .send(await paymentRequest(await newPayer(rpcUrl)))
      .expect(200)
  await settle({ 'Idempotency-Key': paymentId, 'X-Request-Id': requestId })
  await settle({})

  const { id } = await database.prisma.settlement.findFirstOrThrow({ where: { idempotencyKey: paymentId } })
  const settlementId = id.toString()
  const ofRequests = () =>
    log.lines().filter(({ message, path }) => message === 'request' && path === '/api/v1/settle')
  const settled = () => log.lines().filter(({ message }) => message === 'settlement settled')
  while (ofRequests().length < 2 || settled().length < 2) await once(log.stream, 'data')
  const lines: Line[] = log.lines()
  const ids = { settlementId, paymentId, requestId }
  const about = (name: keyof typeof ids) => lines.filter((line) => line[name] === ids[name])
  const messages = ['settlement claimed', 'settlement signed', 'settlement settled']
  for (const name of ['settlementId', 'paymentId'] as const)
    expect(about(name)).toEqual(
      messages.map((message) => expect.objectContaining({ message, ...ids }) as Line),
    )
  expect(
    about('requestId')
      .map(({ message }) => message)
      .sort(),
  ).toEqual(['request', ...messages].sort())
  expect(log.text()).not.toContain('[masked]')

  const others = lines.filter(
    (line) => messages.includes(String(line.message)) && line.settlementId !== settlementId,
  )
  expect(others.map(({ message }) => message)).toEqual(messages)
  for (const line of others) {
    expect(line).not.toHaveProperty('paymentId')
    expect(line.requestId).toMatch(/^[0-9a-f-]{36}$/)
  }
})
