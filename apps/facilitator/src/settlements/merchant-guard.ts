import { type Request, type RequestHandler, type Response } from 'express'
import { type ClientLimit } from '../clients/client-limit'
import { type createClientGuard } from '../clients/guard'
import { type createUserGuard } from '../users/guard'

/** Whose settlements a caller sees: those of one client key, of all keys of a user, or of all users. */
export type Merchant = { clientId: string } | { userId: number } | 'all'

type MerchantHandler = (req: Request, res: Response, merchant: Merchant) => unknown

/** Takes a client key if the request has one, else an access token. */
export const createMerchantGuard =
  (guards: {
    withClient: ReturnType<typeof createClientGuard>
    withUser: ReturnType<typeof createUserGuard>
    limitClient: ClientLimit
  }) =>
  (handler: MerchantHandler): RequestHandler => {
    const asClient = guards.withClient(
      'settlements',
      (req, res, { clientId }) => handler(req, res, { clientId }),
      guards.limitClient,
    )
    const asUser = guards.withUser<Request['params']>((req, res, { id, isAdmin }) =>
      handler(req, res, isAdmin ? 'all' : { userId: id }),
    )
    return (req, res, next) => (req.get('X-Client-ID') === undefined ? asUser : asClient)(req, res, next)
  }
