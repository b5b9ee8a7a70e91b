import { Credentials, type User as WireUser } from '@tollgate/protocol'
import { ApiError, parse } from '@tollgate/service'
import { type Request, type Response } from 'express'
import { z } from 'zod'
import { type Passwords } from './passwords'
import { type User, type UserStore } from './store'
import { newRefreshToken, REFRESH_TTL_SECONDS, type Tokens } from './tokens'

/** What is no email or no password of ours is simply wrong. */
const Login = z.object({ email: z.string().max(1024), password: z.string().max(1024) })
const Refresh = z.object({ refresh_token: z.string().max(1024) })

export function createUserHandlers(parts: {
  users: UserStore
  passwords: Passwords
  tokens: Tokens
  now: () => Date
}) {
  const { users, passwords, tokens, now } = parts

  return {
    async signup(req: Request, res: Response) {
      const { email, password } = parse(Credentials, req.body)
      const passwordHash = await passwords.hash(password)
      const user = await users.create({ email: email.toLowerCase(), passwordHash, createdAt: now() })
      if (!user)
        throw new ApiError('CONFLICT', 'This email has an account; log in, or sign up with another one')
      res.json({ data: { message: 'Signed up; log in to go on', user: toWire(user) } })
    },

    /** An unknown email and a wrong password are answered alike, and in the same time. */
    async login(req: Request, res: Response) {
      const { email, password } = parse(Login, req.body)
      const known = Credentials.shape.email.safeParse(email).success
      const found = known ? await users.byEmail(email.toLowerCase()) : undefined
      if (!(await passwords.matches(password, found?.passwordHash)) || !found) {
        res.status(401).json({ message: 'Wrong email or password' })
        return
      }
      const { id } = found.user
      const createdAt = now()
      const refreshToken = newRefreshToken()
      const expiresAt = new Date(createdAt.getTime() + REFRESH_TTL_SECONDS * 1000)
      await users.keepRefreshToken(id, refreshToken, { createdAt, expiresAt })
      res.json({
        data: { message: 'Logged in', access_token: tokens.issue(id), refresh_token: refreshToken, id },
      })
    },

    async refresh(req: Request, res: Response) {
      const { refresh_token: refreshToken } = parse(Refresh, req.body)
      const userId = await users.byRefreshToken(refreshToken, now())
      if (userId === undefined) {
        res.status(401).json({
          message: 'The refresh token is not valid',
          details: 'It is unknown or has expired; log in again',
        })
        return
      }
      res.json({ data: { access_token: tokens.issue(userId) } })
    },
  }
}

const toWire = ({ createdAt, ...user }: User): WireUser => ({ ...user, createdAt: createdAt.toISOString() })
