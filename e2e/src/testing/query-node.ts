export async function queryNode(
  rpcUrl: string,
  method: string,
  params: readonly unknown[] | Record<string, unknown> = [],
): Promise<unknown> {
  const answer = await fetch(rpcUrl, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })
  const { result, error } = (await answer.json()) as {
    result?: unknown
    error?: { message: string; data?: string }
  }
  if (error) throw new Error(`${method}: ${error.message} ${error.data ?? ''}`.trimEnd())
  return result
}
