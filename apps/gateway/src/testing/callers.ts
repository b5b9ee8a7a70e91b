import { request, type Dispatcher } from 'undici'

const payload = { jsonrpc: '2.0', id: 1, method: 'eth_call', params: [] }

/** `POST /rpc` as a client sends it that leaves the answer's bytes as they are, and that may leave before its answer. */
export const callerOf =
  (gateway: { url: string }, token: string) =>
  (
    changes: { chain_id: string } & Record<string, unknown>,
    { headers = {}, signal }: { headers?: Record<string, string>; signal?: AbortSignal } = {},
  ): Promise<Dispatcher.ResponseData> =>
    request(`${gateway.url}/rpc`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
      body: JSON.stringify({
        ecosystem: 'evm',
        resource: '',
        method: 'POST',
        transport: 'rpc',
        payload,
        ...changes,
      }),
      ...(signal ? { signal } : {}),
    })

/** The bytes of an answer; undefined where it was cut off. */
export const bytesOf = async ({ body }: Dispatcher.ResponseData): Promise<Buffer | undefined> =>
  body.arrayBuffer().then(
    (bytes) => Buffer.from(bytes),
    () => undefined,
  )
