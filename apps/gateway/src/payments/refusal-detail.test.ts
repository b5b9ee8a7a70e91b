import { decodeJson } from '@tollgate/protocol'
import { closeAll } from '@tollgate/testing'
import { testGateway, type TestGateway } from '../testing/gateway'

let gateway: TestGateway
beforeAll(async () => (gateway = await testGateway()))
afterEach(() => gateway.facilitator.refuse(undefined))
afterAll(closeAll)

async function refusedTwice(reason: string, message?: string) {
  const wallet = gateway.wallet()
  const { call } = await wallet.signIn()
  gateway.facilitator.refuse(reason, message)
  const payment = await wallet.pay()
  const answers = [await call({ payment }), await call({ payment })]
  return answers.map(({ status, body, headers }) => ({
    status,
    message: (body as { message: string }).message,
    receipt: decodeJson(String((headers as Record<string, string>)['x-payment-response'])) as object,
  }))
}

test('a refusal passes the facilitator’s detail to the payer, also when repeated', async () => {
  const detail = 'Blacklistable: account is blacklisted'
  for (const { status, message, receipt } of await refusedTwice('invalid_transaction_state', detail)) {
    expect(status).toBe(402)
    expect(message).toContain(`refused (invalid_transaction_state: ${detail}): `)
    expect(message).toContain('this gateway charged nothing')
    expect(receipt).toMatchObject({ errorReason: 'invalid_transaction_state', errorMessage: detail })
  }
})

test('the detail is cut and reduced to ASCII', async () => {
  for (const { message, receipt } of await refusedTwice('invalid_payment', `é\r\n${'x'.repeat(10_000)}`)) {
    expect(message).toMatch(/^[\x20-\x7e]{1,500}$/)
    expect(message).toContain(`(invalid_payment: ???${'x'.repeat(197)})`)
    expect(receipt).toMatchObject({ errorMessage: `???${'x'.repeat(197)}` })
  }
})

test('a refusal without detail contains only its reason', async () => {
  for (const { message, receipt } of await refusedTwice('insufficient_funds')) {
    expect(message).toContain('refused (insufficient_funds) and nothing was charged')
    expect(receipt).not.toHaveProperty('errorMessage')
  }
})
