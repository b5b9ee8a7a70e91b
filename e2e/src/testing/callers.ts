import { Agent, request } from 'undici'
import { type AnswerMode } from './upstream'

export const COUNTED_CHAIN = '31337'

/** A traceable call: its usage row has the id in the resource, the upstream gets it as the JSON-RPC id. */
export const countedCall = (id: string, answerMode: AnswerMode = 'answer') => ({
  ecosystem: 'evm',
  chain_id: COUNTED_CHAIN,
  resource: resourceOf(id),
  method: 'POST',
  transport: 'rpc',
  payload: { jsonrpc: '2.0', id, method: answerMode, params: [] },
})

export const resourceOf = (id: string) => `/calls/${id}`

export type Answer = {
  status: number
  headers: Record<string, string | string[] | undefined>
  body: Record<string, unknown>
}

export type Callers = ReturnType<typeof openCallers>

export function openCallers(urls: readonly string[], count: number) {
  const agent = new Agent({
    connections: count,
    pipelining: 1,
    headersTimeout: 60_000,
    bodyTimeout: 60_000,
    keepAliveTimeout: 30_000,
  })

  const ask = async (
    url: string,
    method: 'GET' | 'POST',
    { body, token, payment }: { body?: unknown; token?: string; payment?: string | undefined },
  ): Promise<Answer> => {
    const answer = await request(url, {
      dispatcher: agent,
      method,
      headers: {
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(payment === undefined ? {} : { 'x-payment': payment }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    return {
      status: answer.statusCode,
      headers: answer.headers,
      body: (await answer.body.json()) as Record<string, unknown>,
    }
  }
  const urlOf = (caller: number) => urls[caller % urls.length] ?? ''

  return {
    /** Opens every connection, so that later requests arrive without delay. */
    async warmUp() {
      await Promise.all(
        Array.from({ length: count }, (_, caller) => ask(`${urlOf(caller)}/health`, 'GET', {})),
      )
    },
    post: (caller: number, path: string, asked: { body?: unknown; token?: string; payment?: string }) =>
      ask(`${urlOf(caller)}${path}`, 'POST', asked),
    call: (caller: number, asked: { id: string; token: string; payment?: string; answerMode?: AnswerMode }) =>
      ask(`${urlOf(caller)}/rpc`, 'POST', {
        token: asked.token,
        payment: asked.payment,
        body: countedCall(asked.id, asked.answerMode),
      }),
    close: () => agent.destroy(),
  }
}
