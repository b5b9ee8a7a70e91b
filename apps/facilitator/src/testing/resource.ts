import { USDC_ADDRESS } from '@tollgate/devnet'
import { type AcceptedPayment, type RegisteredResource } from '@tollgate/protocol'
import { type Api } from './facilitator'

export const PAY_TO = '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC'

export const way = (changes: object = {}): AcceptedPayment => ({
  scheme: 'exact',
  network: 'base-sepolia',
  maxAmountRequired: '10000',
  asset: USDC_ADDRESS,
  payTo: PAY_TO,
  ...changes,
})

export const registration = (changes: object = {}) => ({
  resource: 'https://shop.example/weather',
  type: 'http',
  x402Version: 1,
  accepts: [way()],
  metadata: { description: 'The weather, now', mimeType: 'application/json' },
  ...changes,
})

export const bearer = (token: string) => ({ Authorization: `Bearer ${token}` })

export async function newResource(api: Api, accessToken: string, changes: object = {}): Promise<number> {
  const answer = await api
    .post('/api/v1/resources')
    .set(bearer(accessToken))
    .send(registration(changes))
    .expect(201)
  return (answer.body as { data: { id: number } }).data.id
}

type Page = { data: { resources: RegisteredResource[]; offset: number; limit: number } }

export async function resourcesOf(api: Api, query: object = {}, accessToken?: string): Promise<Page['data']> {
  const path = accessToken === undefined ? '/api/v1/resources' : '/api/v1/users/resources'
  const answer = await api
    .get(path)
    .query(query)
    .set(accessToken === undefined ? {} : bearer(accessToken))
    .expect(200)
  return (answer.body as Page).data
}
