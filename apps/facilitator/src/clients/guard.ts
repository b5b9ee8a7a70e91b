import { ClientPath, type Operation } from '@tollgate/protocol'
import { ApiError, type KeyLimiter, type ReadBody } from '@tollgate/service'
import { type Request, type RequestHandler, type Response } from 'express'
import { BODY_LIMIT_BYTES } from '../body-limit'
import { type ClientLimit } from './client-limit'
import { type Caller, type ClientStore } from './store'

type ClientHandler = (req: Request, res: Response, caller: Caller) => unknown

/** Authenticates the client key and checks its scope, cap and rate limit before it reads the body. */
export const createClientGuard =
  (clients: ClientStore, readBody: ReadBody, limitPayments: KeyLimiter, now: () => Date) =>
  (operation: Operation, handler: ClientHandler, limit?: ClientLimit): RequestHandler =>
  async (req, res) => {
    // Shared caches treat Authorization as private, but not these headers (RFC 9111, 3.5).
    res.set('Cache-Control', 'no-store')
    const client = await authenticate(req, clients, now())
    Object.assign(res.locals, { userId: client.userId, clientId: client.clientId })
    if (client.scope.length > 0 && !client.scope.includes(operation))
      throw new ApiError(
        'FORBIDDEN',
        `The scope of this client key does not cover ${operation}; create a key with a scope that does`,
      )
    const { clientId, userId, maxPaymentsPerMinute } = client
    if (operation === 'settle' && maxPaymentsPerMinute !== null)
      await limitPayments(clientId, maxPaymentsPerMinute, res)
    await readBody(req, res, {
      limitBytes: BODY_LIMIT_BYTES,
      sender: `user ${userId}`,
      ...(limit ? { limit: (points) => limit(req, res, client, points) } : {}),
    })
    await handler(req, res, client)
  }

async function authenticate(req: Request, clients: ClientStore, now: Date): Promise<Caller> {
  const id = req.get('X-Client-ID') ?? ''
  const token = req.get('X-Client-Token') ?? ''
  const isId = ClientPath.shape.id.safeParse(id).success
  const client = isId ? await clients.authenticate(id, token, now) : undefined
  if (client) return client
  throw new ApiError(
    'UNAUTHORIZED',
    'Send the X-Client-ID and X-Client-Token of a valid client key; POST /api/v1/clients creates one',
    { challenge: 'ClientKey' },
  )
}
