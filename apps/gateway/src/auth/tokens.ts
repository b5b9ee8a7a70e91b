import { AuthMethod, Ecosystem } from '@tollgate/protocol'
import { ApiError } from '@tollgate/service'
import { createHash, createSecretKey } from 'node:crypto'
import jwt from 'jsonwebtoken'
import { LRUCache } from 'lru-cache'
import { z } from 'zod'

const TOKEN_TTL_SECONDS = 3600

const ISSUER = 'tollgate-gateway'

export const Claims = z.object({
  wallet: z.string(),
  auth_method: AuthMethod,
  chain_id: z.string(),
  ecosystem: Ecosystem,
  pricing_plan_id: z.int(),
  sid: z.uuid(),
  jti: z.uuid(),
})
export type Claims = z.infer<typeof Claims>
const Verified = Claims.extend({ exp: z.int() })
const Header = z.object({ kid: z.string() })

/** About 1 KiB each. */
const MAX_REMEMBERED = 16_384

export type Tokens = ReturnType<typeof createTokens>

/**
 * JWT, HS256 (RFC 7519). The first secret signs; all verify, selected by `kid`, so that a secret can be rotated without ending
 * sessions. Keys are key objects because strings are parsed at every call. A token's signature is checked once.
 */
export function createTokens(secrets: readonly string[], now: () => Date) {
  const keys = secrets.map((secret) => ({
    kid: createHash('sha256').update(secret).digest('hex').slice(0, 8),
    key: createSecretKey(Buffer.from(secret)),
  }))
  const [signing] = keys
  if (!signing) throw new Error('A token needs at least one secret')
  const keyOf = new Map(keys.map(({ kid, key }) => [kid, key]))
  const seconds = () => Math.floor(now().getTime() / 1000)
  /** Tokens whose signature was right. Whether a session was revoked is not remembered here. */
  const remembered = new LRUCache<string, { claims: Claims; exp: number }>({ max: MAX_REMEMBERED })

  function verifySignature(token: string): Claims {
    const key = keyOf.get(kidOf(token) ?? '')
    if (!key) throw invalidToken()
    try {
      const options = { algorithms: ['HS256' as const], issuer: ISSUER, clockTimestamp: seconds() }
      const { exp, ...claims } = Verified.parse(jwt.verify(token, key, options))
      remembered.set(token, { claims, exp })
      return claims
    } catch (error) {
      throw error instanceof jwt.TokenExpiredError ? expiredToken() : invalidToken(error)
    }
  }

  return {
    issue(claims: Claims): { token: string; expiresAt: Date } {
      const iat = seconds()
      const exp = iat + TOKEN_TTL_SECONDS
      const token = jwt.sign({ ...claims, iat, exp, iss: ISSUER }, signing.key, {
        algorithm: 'HS256',
        keyid: signing.kid,
      })
      return { token, expiresAt: new Date(exp * 1000) }
    },

    verify(token: string): Claims {
      const known = remembered.get(token)
      if (!known) return verifySignature(token)
      if (seconds() >= known.exp) throw expiredToken()
      return known.claims
    },
  }
}

/** Unverified: it only selects the key that must verify the token. */
function kidOf(token: string): string | undefined {
  try {
    const header: unknown = JSON.parse(
      Buffer.from(token.slice(0, token.indexOf('.')), 'base64url').toString(),
    )
    return Header.parse(header).kid
  } catch {
    return undefined
  }
}

const expiredToken = () =>
  new ApiError('EXPIRED_TOKEN', 'The token has expired; refresh it at POST /auth/refresh or sign in again')

const invalidToken = (cause?: unknown) =>
  new ApiError(
    'INVALID_TOKEN',
    'The bearer token is missing or not one of ours; sign in at POST /auth/login',
    { cause },
  )
