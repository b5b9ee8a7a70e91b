import { type Response } from 'supertest'
import { newUser, type ClientHeaders, type TestFacilitator } from './facilitator'

type Credentials = { email: string; password: string }

/** Metrics of users and admins, and requests that are counted in them. */
export function metricsOf({ api, database }: Pick<TestFacilitator, 'api' | 'database'>) {
  const ask = async (headers: object, path: string, query: object = {}): Promise<Response> =>
    api
      .get(`/api/v1${path}`)
      .set({ ...headers })
      .query(query)

  async function newKey(accessToken: string) {
    const answer = await api
      .post('/api/v1/clients')
      .set('Authorization', `Bearer ${accessToken}`)
      .send({ title: 'Shop' })
      .expect(200)
    const { client } = (answer.body as { data: { client: { clientId: string; token: string } } }).data
    const headers: ClientHeaders = { 'X-Client-ID': client.clientId, 'X-Client-Token': client.token }
    return { client: client.clientId, headers }
  }

  return {
    async login({ email, password }: Credentials) {
      const answer = await api.post('/api/v1/login').send({ email, password }).expect(200)
      const { data } = answer.body as { data: { access_token: string } }
      return { Authorization: `Bearer ${data.access_token}` }
    },
    ask,
    read: async <T>(headers: object, path: string, query: object = {}) =>
      ((await ask(headers, path, query)).body as { data: T }).data,
    newKey,
    /** A user with a client key; its earlier requests count today. */
    async newMerchant() {
      const user = await newUser(api)
      const { client, headers } = await newKey(user.accessToken)
      return { user, client, headers, bearer: { Authorization: `Bearer ${user.accessToken}` } }
    },
    async makeAdmin({ email }: Credentials) {
      await database.prisma.user.update({ where: { email }, data: { isAdmin: true } })
    },
  }
}

export async function until<T>(work: () => Promise<T>, isSo: (value: T) => boolean): Promise<T> {
  const deadline = Date.now() + 20_000
  for (;;) {
    const value = await work()
    if (isSo(value)) return value
    if (Date.now() > deadline) throw new Error(`still not so: ${JSON.stringify(value)}`)
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}
