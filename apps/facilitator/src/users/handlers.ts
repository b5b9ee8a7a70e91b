import {
  CreateUserRequest,
  Credentials,
  type SignUpMode,
  SignUpRequest,
  UserLogin,
  UserTokenRefresh,
  type User as WireUser,
} from '@tollgate/protocol'
import { ApiError, parse } from '@tollgate/service'
import { type Request, type Response } from 'express'
import { type LoginLimit } from './login-limit'
import { type Passwords } from './passwords'
import { type SessionStore } from './session-store'
import { type SignedInUser, type User, type UserStore } from './store'
import { newRefreshToken, REFRESH_TTL_SECONDS, type Tokens } from './tokens'
import { userAgentOf } from './user-agent'

export function createUserHandlers(parts: {
  users: UserStore
  sessions: SessionStore
  passwords: Passwords
  tokens: Tokens
  signUp: SignUpMode
  limitLogin: LoginLimit
  now: () => Date
}) {
  const { users, sessions, passwords, tokens, signUp, limitLogin, now } = parts

  type Registration = Credentials & {
    isAdmin: boolean
    feeShareBps?: number
    invitation?: string | undefined
  }

  async function register({ password, invitation, ...account }: Registration) {
    const user = { ...account, passwordHash: await passwords.hash(password), createdAt: now() }
    const created =
      invitation === undefined ? await users.create(user) : await users.createInvited(user, invitation)
    if (created === 'uninvited') throw uninvited()
    if (!created)
      throw new ApiError('CONFLICT', 'This email has an account; log in with it, or use another one')
    return toWire(created)
  }

  /** Undefined if the user got another password or was disabled since it was found. */
  async function start({ user, passwordHash }: { user: User; passwordHash: string }, req: Request) {
    const createdAt = now()
    const session = {
      userId: user.id,
      passwordHash,
      refreshToken: newRefreshToken(),
      userAgent: userAgentOf(req),
      createdAt,
      expiresAt: new Date(createdAt.getTime() + REFRESH_TTL_SECONDS * 1000),
    }
    const sessionId = await sessions.start(session)
    return sessionId === undefined ? undefined : { ...session, sessionId }
  }

  return {
    signUpMode(_req: Request, res: Response) {
      res.json({ data: { mode: signUp } })
    },

    async signup(req: Request, res: Response) {
      const { invitation, ...credentials } = parse(SignUpRequest, req.body)
      if (signUp === 'closed')
        throw new ApiError('FORBIDDEN', 'Sign-up is closed here; ask the operator for an account')
      if (signUp === 'invitation' && invitation === undefined) throw uninvited()
      const user = await register({
        ...credentials,
        isAdmin: false,
        ...(signUp === 'invitation' ? { invitation } : {}),
      })
      res.json({ data: { message: 'Signed up; log in to go on', user } })
    },

    /** Unknown, invalid and disabled emails and wrong passwords get the same response in the same time: one query, one hash. */
    async login(req: Request, res: Response) {
      const { email, password } = parse(UserLogin, req.body)
      const attempt = await limitLogin(email, req, res)
      const found = await users.byEmail(Credentials.shape.email.safeParse(email).data ?? NO_EMAIL)
      const isMatch = await passwords.matches(password, found?.passwordHash)
      const session = isMatch && found ? await start(found, req) : undefined
      if (!session) {
        res.status(401).json({ message: 'Wrong email or password' })
        return
      }
      await attempt.succeeded()
      res.set('Cache-Control', 'no-store').json({
        data: {
          message: 'Logged in',
          access_token: tokens.issue(session),
          refresh_token: session.refreshToken,
          id: session.userId,
        },
      })
    },

    async refresh(req: Request, res: Response) {
      const { refresh_token: refreshToken } = parse(UserTokenRefresh, req.body)
      const session = await sessions.refresh(refreshToken, now())
      if (!session) {
        res.status(401).json({
          message: 'The refresh token is not valid',
          details: 'It is unknown or has expired; log in again',
        })
        return
      }
      res
        .set('Cache-Control', 'no-store')
        .json({ data: { access_token: tokens.issue({ ...session, sessionId: session.id }) } })
    },

    async create(req: Request, res: Response) {
      const {
        is_admin: isAdmin,
        fee_share_percent: percent,
        ...credentials
      } = parse(CreateUserRequest, req.body)
      const share = percent === undefined ? {} : { feeShareBps: Math.round(percent * 100) }
      const user = await register({ ...credentials, isAdmin, ...share })
      res.json({ data: user })
      return { userId: user.id, isAdmin }
    },

    me(_req: Request, res: Response, user: SignedInUser) {
      res.json({ data: toWire(user) })
    },
  }
}

const uninvited = () =>
  new ApiError(
    'FORBIDDEN',
    'Sign-up is by invitation here; ask the operator for one for your email that is unused and has not expired, and send it as invitation',
  )

const NO_EMAIL = ''

const toWire = ({ id, email, isAdmin, createdAt }: User): WireUser => ({
  id,
  email,
  isAdmin,
  createdAt: createdAt.toISOString(),
})
