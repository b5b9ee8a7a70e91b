import { createSecretKey, randomBytes } from 'node:crypto'
import jwt from 'jsonwebtoken'

const SERVICE = 'tollgate-facilitator'
const ACCESS_TTL_SECONDS = 900
export const REFRESH_TTL_SECONDS = 30 * 86_400

export type Tokens = ReturnType<typeof createTokens>

/**
 * Access tokens: HS256, valid for at most 15 minutes whatever their `exp`, with this service as issuer and
 * audience.
 */
export function createTokens(secret: string, now: () => Date) {
  const key = createSecretKey(secret, 'utf8')
  const seconds = () => Math.floor(now().getTime() / 1000)

  return {
    issue(userId: number): string {
      const iat = seconds()
      const claims = { sub: String(userId), iat, exp: iat + ACCESS_TTL_SECONDS, iss: SERVICE, aud: SERVICE }
      return jwt.sign(claims, key, { algorithm: 'HS256' })
    },

    /** The token's user; undefined if it is forged, altered or expired. */
    read(token: string): number | undefined {
      try {
        const { sub } = jwt.verify(token, key, {
          algorithms: ['HS256'],
          issuer: SERVICE,
          audience: SERVICE,
          maxAge: ACCESS_TTL_SECONDS,
          clockTimestamp: seconds(),
        }) as jwt.JwtPayload
        return /^[1-9]\d{0,8}$/.test(sub ?? '') ? Number(sub) : undefined
      } catch {
        return undefined
      }
    },
  }
}

/** Opaque, 256 bits; the database stores only its SHA-256. */
export const newRefreshToken = () => randomBytes(32).toString('base64url')
