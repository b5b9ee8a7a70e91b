import {
  ChangePasswordRequest,
  DeleteAccountRequest,
  PasswordResetPath,
  ResetPasswordRequest,
} from '@tollgate/protocol'
import { ApiError, parse } from '@tollgate/service'
import { type Request, type Response } from 'express'
import { type LoginLimit } from './login-limit'
import { type PasswordStore } from './password-store'
import { type Passwords } from './passwords'
import { sessionOf } from './session-handlers'
import { type SignedInUser } from './store'

export function createPasswordHandlers(parts: {
  store: PasswordStore
  passwords: Passwords
  limitLogin: LoginLimit
  deleteAccount: (account: { userId: number; passwordHash: string }) => Promise<boolean>
}) {
  const { store, passwords, limitLogin, deleteAccount } = parts

  /** The hash that the password has: what follows must hold only while the user still has it. Counts as a login attempt. */
  async function hashOf(user: SignedInUser, password: string, req: Request, res: Response): Promise<string> {
    const attempt = await limitLogin(user.email, req, res)
    const hash = await store.hashOf(user.id)
    if (!(await passwords.matches(password, hash)) || hash === undefined) throw wrongPassword()
    await attempt.succeeded()
    return hash
  }

  return {
    async change(req: Request, res: Response, user: SignedInUser) {
      const { current_password: current, new_password: next } = parse(ChangePasswordRequest, req.body)
      const sessionId = sessionOf(user)
      const from = await hashOf(user, current, req, res)
      const to = await passwords.hash(next)
      if (!(await store.change({ userId: user.id, from, to, sessionId }))) throw wrongPassword()
      res.json({ data: { message: 'The password is changed; all your other sessions have ended' } })
    },

    async issueReset(req: Request, res: Response) {
      const { id } = parse(PasswordResetPath, req.params)
      const reset = await store.issueReset(id)
      if (!reset) throw new ApiError('NOT_FOUND', 'No active account has this id; GET /admin/users lists all')
      res.json({ data: { token: reset.token, expiresAt: reset.expiresAt.toISOString() } })
      return { userId: id }
    },

    /** Hashes nothing for an invalid token. */
    async reset(req: Request, res: Response) {
      const { token, password } = parse(ResetPasswordRequest, req.body)
      if (
        !(await store.isResetValid(token)) ||
        !(await store.useReset(token, await passwords.hash(password)))
      )
        throw new ApiError(
          'FORBIDDEN',
          'The token is unknown, used or has expired; ask the operator for a new one',
        )
      res.set('Cache-Control', 'no-store').json({ data: { message: 'The password is set; log in with it' } })
    },

    async deleteAccount(req: Request, res: Response, user: SignedInUser) {
      const { password } = parse(DeleteAccountRequest, req.body)
      const passwordHash = await hashOf(user, password, req, res)
      if (!(await deleteAccount({ userId: user.id, passwordHash }))) throw wrongPassword()
      res.json({ data: { deleted: user.id } })
    },
  }
}

const wrongPassword = () =>
  new ApiError('FORBIDDEN', 'The current password is wrong; if you forgot it, ask the operator for a reset')
