import { hash, verify } from '@node-rs/argon2'
import { ApiError } from '@tollgate/service'

/** The OWASP minimum for argon2id: 19 MiB, two passes, one lane. */
const cost = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }
/** Each takes memory and a core for a while: beyond these, callers are asked to come back. */
const MAX_AT_ONCE = 64

export type Passwords = Awaited<ReturnType<typeof createPasswords>>

/** Argon2id hashes of passwords, a bounded number at a time. */
export async function createPasswords() {
  const nobodys = await hash('of nobody', cost)
  let underWay = 0

  async function bounded<T>(work: () => Promise<T>): Promise<T> {
    if (underWay >= MAX_AT_ONCE)
      throw new ApiError('OVERLOADED', 'Too many sign-ins at once; try again in a few seconds', {
        retryAfterSeconds: 3,
      })
    underWay++
    try {
      return await work()
    } finally {
      underWay--
    }
  }
  return {
    hash: (password: string) => bounded(() => hash(password, cost)),

    /** Whether the password is the one that was hashed. Without a hash the answer is no, and takes as long. */
    async matches(password: string, hashed: string | undefined): Promise<boolean> {
      const isRight = await bounded(() => verify(hashed ?? nobodys, password))
      return isRight && hashed !== undefined
    },
  }
}
