import { TollgateError } from '../errors.js'
import { type Http, type Send } from '../http.js'
import { isSessionEnd, refusalOf, type GatewayClient } from './gateway-client.js'
import { isAccountPath } from './routes.js'
import { type Session, type Sessions } from './sessions.js'

export type AccountRequest = {
  method?: string
  headers?: Record<string, string>
  body?: string
  signal?: AbortSignal
}

/** Requests to the routes of the account, in the wallet's session; repeated once in a new session if it has ended. */
export function createAccountFetch(parts: { gateway: GatewayClient; http: Http; sessions: Sessions }) {
  const { gateway, http, sessions } = parts

  const sendIn = ({ token }: Session, path: string, request: Send) =>
    http.send(`${gateway.url}${path}`, {
      ...request,
      headers: { ...request.headers, authorization: `Bearer ${token}` },
    })

  return async (path: string, request: AccountRequest): Promise<Response> => {
    if (!isAccountPath(path))
      throw new TollgateError('INVALID_ARGUMENT', 'path: must begin with /keys or /webhooks')
    const { signal } = request
    const session = await sessions.open(signal)
    const answer = await sendIn(session, path, request)
    if (answer.status !== 401 && answer.status !== 403) return answer
    const refusal = refusalOf(answer, await http.readJson(answer.clone(), { signal }))
    if (!isSessionEnd(refusal)) return answer
    return sendIn(await sessions.renew(session, signal), path, request)
  }
}
