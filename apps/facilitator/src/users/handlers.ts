import {
  CreateUserRequest,
  Credentials,
  UserLogin,
  UsersQuery,
  UserTokenRefresh,
  type User as WireUser,
} from '@tollgate/protocol'
import { ApiError, parse } from '@tollgate/service'
import { type Request, type Response } from 'express'
import { type Passwords } from './passwords'
import { type User, type UserStore } from './store'
import { newRefreshToken, REFRESH_TTL_SECONDS, type Tokens } from './tokens'

export function createUserHandlers(parts: {
  users: UserStore
  passwords: Passwords
  tokens: Tokens
  now: () => Date
}) {
  const { users, passwords, tokens, now } = parts

  async function register({ email, password, isAdmin }: Credentials & { isAdmin: boolean }) {
    const passwordHash = await passwords.hash(password)
    const user = await users.create({ email, passwordHash, isAdmin, createdAt: now() })
    if (!user) throw new ApiError('CONFLICT', 'This email has an account; log in with it, or use another one')
    return toWire(user)
  }

  return {
    async signup(req: Request, res: Response) {
      const user = await register({ ...parse(Credentials, req.body), isAdmin: false })
      res.json({ data: { message: 'Signed up; log in to go on', user } })
    },

    /**
     * An unknown email, what is no email, and a wrong password are answered alike, and in the same time: each costs one
     * query and one hash.
     */
    async login(req: Request, res: Response) {
      const { email, password } = parse(UserLogin, req.body)
      const found = await users.byEmail(Credentials.shape.email.safeParse(email).data ?? NOBODYS)
      if (!(await passwords.matches(password, found?.passwordHash)) || !found) {
        res.status(401).json({ message: 'Wrong email or password' })
        return
      }
      const { id } = found.user
      const createdAt = now()
      const refreshToken = newRefreshToken()
      const expiresAt = new Date(createdAt.getTime() + REFRESH_TTL_SECONDS * 1000)
      await users.keepRefreshToken(id, refreshToken, { createdAt, expiresAt })
      res.set('Cache-Control', 'no-store').json({
        data: { message: 'Logged in', access_token: tokens.issue(id), refresh_token: refreshToken, id },
      })
    },

    async refresh(req: Request, res: Response) {
      const { refresh_token: refreshToken } = parse(UserTokenRefresh, req.body)
      const userId = await users.byRefreshToken(refreshToken, now())
      if (userId === undefined) {
        res.status(401).json({
          message: 'The refresh token is not valid',
          details: 'It is unknown or has expired; log in again',
        })
        return
      }
      res.set('Cache-Control', 'no-store').json({ data: { access_token: tokens.issue(userId) } })
    },

    async create(req: Request, res: Response) {
      const { is_admin: isAdmin, ...credentials } = parse(CreateUserRequest, req.body)
      res.json({ data: await register({ ...credentials, isAdmin }) })
    },

    async list(req: Request, res: Response) {
      res.json({ data: (await users.list(parse(UsersQuery, req.query))).map(toWire) })
    },
  }
}

/** No account has it, for it is no email. */
const NOBODYS = ''

const toWire = ({ createdAt, ...user }: User): WireUser => ({ ...user, createdAt: createdAt.toISOString() })
