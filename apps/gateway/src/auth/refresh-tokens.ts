import { createHash, createHmac, hkdfSync, randomBytes } from 'node:crypto'

export type RefreshTokens = ReturnType<typeof createRefreshTokens>

/**
 * The first refresh token of a session is random. Each next one is derived from the one that it replaces and from a secret, so that
 * it can be given again although only its hash is stored. The first secret derives; all of them can derive it again.
 */
export function createRefreshTokens(secrets: readonly string[]) {
  const keys = secrets.map((secret) => Buffer.from(hkdfSync('sha256', secret, '', 'refresh tokens', 32)))
  const derive = (key: Buffer, used: string) => createHmac('sha256', key).update(used).digest('base64url')
  const [deriving] = keys
  if (!deriving) throw new Error('A refresh token needs at least one secret')

  return {
    create: (): string => randomBytes(32).toString('base64url'),

    next: (used: string): string => derive(deriving, used),

    /** The token that replaced `used`, by its hash. Undefined if none of the secrets derived it. */
    findNext: (used: string, nextHash: Buffer): string | undefined =>
      keys.map((key) => derive(key, used)).find((token) => hashOf(token).equals(nextHash)),
  }
}

export const hashOf = (token: string) => createHash('sha256').update(token).digest()
