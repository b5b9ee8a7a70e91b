import { request, type Dispatcher } from 'undici'

export const headersOf = (token: string, more: Record<string, string> = {}) => ({
  authorization: `Bearer ${token}`,
  'content-type': 'application/json',
  ...more,
})

/** The status of `POST /rpc`. */
export async function post(
  { url }: { url: string },
  token: string,
  body: string | Buffer,
  { headers = {}, dispatcher }: { headers?: Record<string, string>; dispatcher?: Dispatcher } = {},
): Promise<number> {
  const answer = await request(`${url}/rpc`, {
    method: 'POST',
    headers: headersOf(token, headers),
    body,
    ...(dispatcher ? { dispatcher } : {}),
  })
  await answer.body.dump()
  return answer.statusCode
}
