import { createSecretKey, randomBytes, type KeyObject } from 'node:crypto'
import jwt from 'jsonwebtoken'
import { z } from 'zod'

const SERVICE = 'tollgate-facilitator'
const ACCESS_TTL_SECONDS = 900
export const REFRESH_TTL_SECONDS = 30 * 86_400

export type Tokens = ReturnType<typeof createTokens>

/**
 * Access tokens: HS256, valid for at most 15 minutes whatever their `exp`, with this service as issuer and
 * audience. The first secret signs; all verify, so that a secret can be rotated.
 */
export function createTokens(secrets: readonly string[], now: () => Date) {
  const keys = secrets.map((secret) => createSecretKey(secret, 'utf8'))
  const [signing] = keys
  if (!signing) throw new Error('A token needs at least one secret')
  const seconds = () => Math.floor(now().getTime() / 1000)

  return {
    issue({ userId, sessionId }: { userId: number; sessionId: string }): string {
      const iat = seconds()
      const lifetime = { iat, exp: iat + ACCESS_TTL_SECONDS }
      const claims = { sub: String(userId), sid: sessionId, ...lifetime, iss: SERVICE, aud: SERVICE }
      return jwt.sign(claims, signing, { algorithm: 'HS256' })
    },

    /**
     * The token's user and session; undefined if it is forged, altered or expired. Tokens of the version before this one name no
     * session: during a rolling update, and for 15 minutes after it, they are accepted.
     */
    read(token: string): { userId: number; sessionId: string | undefined } | undefined {
      const verified = keys.map((key) => verify(token, key)).find((claims) => claims !== undefined)
      const claims = Claims.safeParse(verified)
      return claims.success ? { userId: Number(claims.data.sub), sessionId: claims.data.sid } : undefined
    },
  }

  function verify(token: string, key: KeyObject): unknown {
    try {
      return jwt.verify(token, key, {
        algorithms: ['HS256'],
        issuer: SERVICE,
        audience: SERVICE,
        maxAge: ACCESS_TTL_SECONDS,
        clockTimestamp: seconds(),
      })
    } catch {
      return undefined
    }
  }
}

const Claims = z.object({ sub: z.string().regex(/^[1-9]\d{0,8}$/), sid: z.uuid().optional() })

/** Opaque, 256 bits; the database stores only its SHA-256. */
export const newRefreshToken = () => randomBytes(32).toString('base64url')
