import { type Account } from './accounts'
import { type TestFacilitator } from './facilitator'

export const HOOKS = '/api/v1/webhooks'

type Created = { data: { id: string; secret: string } }

export async function newWebhook(
  { api }: Pick<TestFacilitator, 'api'>,
  { authorization }: Pick<Account, 'authorization'>,
  body: object = {},
) {
  const url = 'https://shop.example/hooks'
  const created = await api
    .post(HOOKS)
    .set(authorization)
    .send({ url, ...body })
    .expect(201)
  return (created.body as Created).data
}

/** Path parameters of an operation on webhooks: one endpoint with a delivery, and another one to delete. */
export async function newWebhooks(facilitator: TestFacilitator, account: Account) {
  const { id } = await newWebhook(facilitator, account)
  const { id: spare } = await newWebhook(facilitator, account)
  const sent = await facilitator.api.post(`${HOOKS}/${id}/test`).set(account.authorization).expect(200)
  const deliveryId = (sent.body as { data: { id: string } }).data.id
  return (operationId: string): Record<string, string> | undefined => {
    if (operationId === 'deleteWebhook') return { id: spare }
    return operationId.includes('Webhook') ? { id, deliveryId } : undefined
  }
}
