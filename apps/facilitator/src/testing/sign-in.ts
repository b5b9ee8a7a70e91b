import { newUser, type Api } from './facilitator'

export type SignedIn = Awaited<ReturnType<typeof signIn>>

/** Logs the user in once more. */
export async function signIn(api: Api, user: { email: string; password: string }, userAgent = 'a test') {
  const { email, password } = user
  const answer = await api
    .post('/api/v1/login')
    .set('User-Agent', userAgent)
    .send({ email, password })
    .expect(200)
  const { data } = answer.body as {
    data: { id: number; access_token: string; refresh_token: string }
  }
  const authorization = { Authorization: `Bearer ${data.access_token}` }
  return {
    id: data.id,
    email,
    password,
    accessToken: data.access_token,
    refreshToken: data.refresh_token,
    authorization,
    /** Of the access and the refresh token. */
    statusesAt: async (at: Api) => [
      (await at.get('/api/v1/users/me').set(authorization)).status,
      (await at.post('/api/v1/token/refresh').send({ refresh_token: data.refresh_token })).status,
    ],
  }
}

export const newSignedIn = async (api: Api) => signIn(api, await newUser(api))

export const SIGNED_IN = [200, 200]
export const SIGNED_OUT = [401, 401]
