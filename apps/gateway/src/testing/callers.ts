import { request, type Dispatcher } from 'undici'

const payload = { jsonrpc: '2.0', id: 1, method: 'eth_call', params: [] }

export const createCaller =
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

/** Returns undefined if the response was cut off. */
export const bytesOf = async ({ body }: Dispatcher.ResponseData): Promise<Buffer | undefined> =>
  body.arrayBuffer().then(
    (bytes) => Buffer.from(bytes),
    () => undefined,
  )
