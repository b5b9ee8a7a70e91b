import { LoginRequest, NonceQuery, RefreshRequest, type NonceAnswer } from '@tollgate/protocol'
import { addressKey, parse } from '@tollgate/service'
import { type Request, type Response } from 'express'
import { parseWallet } from '../wallet-address'
import { NONCE_TTL_SECONDS, type Nonces } from './nonces'
import { type Session, type Sessions } from './sessions'
import { type SignIn } from './sign-in'

/** Longer ones are of no host, and match none. */
const MAX_ORIGIN_LENGTH = 300

export function createAuthHandlers(nonces: Nonces, signIn: SignIn, sessions: Sessions, domains: string[]) {
  return {
    async nonce(req: Request, res: Response) {
      const { address } = parse(NonceQuery, req.query)
      const answer: NonceAnswer = {
        nonce: await nonces.create(
          address === undefined ? undefined : parseWallet(address),
          req.get('origin')?.slice(0, MAX_ORIGIN_LENGTH),
        ),
        expires_in: NONCE_TTL_SECONDS,
        domains,
      }
      res.set('Cache-Control', 'no-store').json(answer)
    },

    async login(req: Request, res: Response) {
      const sender = { address: addressKey(req), origin: req.get('origin') }
      res.set('Cache-Control', 'no-store').json(await signIn(parse(LoginRequest, req.body), sender))
    },

    async refresh(req: Request, res: Response) {
      const { refresh_token } = parse(RefreshRequest, req.body)
      res.set('Cache-Control', 'no-store').json(await sessions.refresh(refresh_token))
    },

    async logout(_req: Request, res: Response, session: Session) {
      await sessions.assertSessionActive(session)
      await sessions.revoke(session.id)
      res.json({ status: 'ok' })
    },
  }
}
