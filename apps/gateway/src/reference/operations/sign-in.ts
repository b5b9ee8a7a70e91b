import {
  LoginRequest,
  NonceAnswer,
  NonceQuery,
  RefreshRequest,
  SessionTokens,
  StatusAnswer,
} from '@tollgate/protocol'
import { type Operation } from '@tollgate/service'
import { refusals } from './errors'

const tag = 'Sign-in'

export const signInOperations: Operation[] = [
  {
    id: 'getNonce',
    method: 'get',
    path: '/auth/nonce',
    tag,
    summary: 'Get a nonce to sign in with.',
    description:
      'Good for one login within 300 seconds. Asked for without an address, it belongs to the wallet that logs in with it first. `domains` are what the sign-in text may be addressed to.',
    query: NonceQuery,
    answers: { 200: { description: 'A new nonce.', schema: NonceAnswer } },
    errors: {
      INVALID_REQUEST: 'The address is no wallet of an ecosystem served here.',
      ...refusals.limited,
      ...refusals.unavailable,
    },
  },
  {
    id: 'login',
    method: 'post',
    path: '/auth/login',
    tag,
    summary: 'Sign in with a signed message.',
    description:
      'Takes the sign-in text of this service, or an EIP-4361 message (for Cosmos wallets CAIP-122), signed by the wallet. The message carries the nonce, which is used up. Contract wallets on the plan’s network sign by EIP-1271, in an ERC-6492 wrapper or not, Cosmos wallets by ADR-036.\n\nThe session is bound to one plan: name it with its chain and ecosystem, or name only the `chain`.',
    body: { schema: LoginRequest },
    answers: { 200: { description: 'The tokens of a new session.', schema: SessionTokens } },
    errors: {
      INVALID_REQUEST:
        'A field is missing or wrong, the message cannot be read or is for another service, or chain and ecosystem are not the plan’s. For `siwc` the chain that the message names counts, too.',
      INVALID_SIGNATURE: 'The signature is not the address’s own, or the message names another address.',
      EXPIRED_NONCE: 'The nonce is unknown, used or expired: get a new one and sign again.',
      NOT_FOUND: 'There is no active plan of this number.',
      ...refusals.smallBody,
      ...refusals.limited,
      ...refusals.unavailable,
    },
  },
  {
    id: 'refresh',
    method: 'post',
    path: '/auth/refresh',
    tag,
    summary: 'Get new tokens without signing.',
    description:
      'Each refresh token works once and brings the next one. One that comes back is refused; more than ten seconds after its use it also ends its session: somebody else may have it.',
    body: { schema: RefreshRequest },
    answers: { 200: { description: 'The next tokens of the session.', schema: SessionTokens } },
    errors: {
      INVALID_TOKEN:
        'The refresh token is unknown or was used: take the newer one if another tab has stored it, else sign in again.',
      EXPIRED_TOKEN: 'The refresh token has expired: sign in again.',
      REVOKED_TOKEN: 'The session was ended: sign in again.',
      ...refusals.smallBody,
      ...refusals.limited,
    },
  },
  {
    id: 'logout',
    method: 'post',
    path: '/auth/logout',
    tag,
    summary: 'End the session and all its tokens, at once.',
    auth: ['bearer'],
    answers: { 200: { description: 'The session has ended.', schema: StatusAnswer } },
    errors: { ...refusals.bearer, ...refusals.limited },
  },
]
