import { type CreatedAccessKey } from '@tollgate/protocol'

/** Calls by plain URLs, as they come from clients that know only nodes. */
export const plainBlockNumber = { jsonrpc: '2.0', id: 7, method: 'eth_blockNumber', params: [] }

export const plainUrl = ({ gateway }: { gateway: { url: string } }, chain: string) =>
  `${gateway.url}/v1/${chain}`

export const postOf = (json: unknown, headers: Record<string, string> = {}) => ({
  method: 'POST',
  headers: { 'content-type': 'application/json', ...headers },
  body: JSON.stringify(json),
})

export const postJson = (url: string, json: unknown, headers: Record<string, string> = {}) =>
  fetch(url, postOf(json, headers))

/** The access key of a session, and the URL of a chain with it. */
export async function createAccessKey(
  { gateway }: { gateway: { url: string } },
  token: string,
  limits: Record<string, unknown> = {},
) {
  const answer = await postJson(
    `${gateway.url}/keys`,
    { label: 'e2e', ...limits },
    { authorization: `Bearer ${token}` },
  )
  if (answer.status !== 201)
    throw new Error(`POST /keys was answered ${answer.status}: ${await answer.text()}`)
  const created = (await answer.json()) as CreatedAccessKey
  return { ...created, urlOf: (chain: string) => created.url.replace('{chain}', chain) }
}
