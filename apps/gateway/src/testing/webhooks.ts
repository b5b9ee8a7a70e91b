import { type TestGateway } from './gateway'

export async function newWebhook({ api }: Pick<TestGateway, 'api'>, token: string): Promise<string> {
  const sent = api.post('/webhooks').set('Authorization', `Bearer ${token}`)
  const created = await sent.send({ url: 'https://app.example/hooks' }).expect(201)
  return (created.body as { id: string }).id
}

/** Path parameters of an endpoint with a delivery. */
export async function newWebhookPath(gateway: Pick<TestGateway, 'api'>, token: string) {
  const id = await newWebhook(gateway, token)
  const sent = gateway.api.post(`/webhooks/${id}/test`).set('Authorization', `Bearer ${token}`)
  return { id, deliveryId: ((await sent.expect(200)).body as { id: string }).id }
}
