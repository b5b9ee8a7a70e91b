import { hash, verify } from '@node-rs/argon2'
import { ApiError } from '@tollgate/service'

/** The OWASP minimum for argon2id: 19 MiB, two passes, one lane. */
const cost = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }
/** Bounds memory and CPU. */
const MAX_CONCURRENT = 64

export type Passwords = Awaited<ReturnType<typeof createPasswords>>

export async function createPasswords() {
  const decoyHash = await hash('no account', cost)
  let running = 0

  async function limited<T>(work: () => Promise<T>): Promise<T> {
    if (running >= MAX_CONCURRENT)
      throw new ApiError('OVERLOADED', 'Too many sign-ins at once; try again in a few seconds', {
        retryAfterSeconds: 3,
      })
    running++
    try {
      return await work()
    } finally {
      running--
    }
  }
  return {
    hash: (password: string) => limited(() => hash(password, cost)),

    /** Takes as long without a hash, so that unknown accounts cannot be detected. */
    async matches(password: string, hashed: string | undefined): Promise<boolean> {
      const isMatch = await limited(() => verify(hashed ?? decoyHash, password))
      return isMatch && hashed !== undefined
    },
  }
}
