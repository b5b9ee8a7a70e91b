import { timingSafeEqual } from 'node:crypto'
import { ApiError } from '@tollgate/service'
import { type Request, type RequestHandler, type Response } from 'express'
import { sha256 } from '../digest'
import { type User, type UserStore } from './store'
import { type Tokens } from './tokens'

type UserHandler<P> = (req: Request<P>, res: Response, user: User) => unknown

/** Lets in users by their access token, and hands the user over. */
export const createUserGuard =
  (users: UserStore, tokens: Tokens) =>
  <P = Record<string, string>>(handler: UserHandler<P>): RequestHandler<P> =>
  async (req, res) => {
    const userId = tokens.read(bearer(req))
    const user = userId === undefined ? undefined : await users.byId(userId)
    if (!user)
      throw new ApiError('UNAUTHORIZED', 'Send a valid access token as bearer; POST /api/v1/login gives one')
    await handler(req, res, user)
  }

/** Lets in who knows the admin token of the configuration; where none is set, nobody. */
export const createAdminGuard =
  (adminToken: string | undefined) =>
  (handler: (req: Request, res: Response) => unknown): RequestHandler =>
  async (req, res) => {
    if (adminToken === undefined || !timingSafeEqual(sha256(bearer(req)), sha256(adminToken)))
      throw new ApiError('UNAUTHORIZED', 'Send the admin token of the service as bearer')
    await handler(req, res)
  }

/** The bearer token, or an empty text. */
const bearer = (req: { get(name: string): string | undefined }) =>
  /^Bearer +(\S.*)$/i.exec(req.get('Authorization') ?? '')?.[1] ?? ''
