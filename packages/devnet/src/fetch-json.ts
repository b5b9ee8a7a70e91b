export type JsonResponse<T> = { url: string; status: number; headers: Headers; body: T }

/** GET, or POST if there is a body. The response body is not validated; check `status` first. */
export async function fetchJson<T>(
  url: string,
  options: { body?: unknown; headers?: Record<string, string>; timeoutMs?: number } = {},
): Promise<JsonResponse<T>> {
  const { body, headers = {}, timeoutMs = 10_000 } = options
  const answer = await fetch(url, {
    ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
    headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    signal: AbortSignal.timeout(timeoutMs),
    redirect: 'error',
  })
  return { url, status: answer.status, headers: answer.headers, body: (await answer.json()) as T }
}
