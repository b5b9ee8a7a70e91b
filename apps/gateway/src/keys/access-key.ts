import { ApiError } from '@tollgate/service'
import { createHash, randomBytes } from 'node:crypto'

/** What an access key may do. Fixed at its creation: whether it is deleted or has spent its credits, the spend decides. */
export type AccessKey = {
  id: string
  wallet: string
  planId: number
  /** CAIP-2 ids. Here and below, an empty list allows all. */
  chains: readonly string[]
  methods: readonly string[]
  origins: readonly string[]
}

const PREFIX = 'tgk_'
const SECRET = /^tgk_[A-Za-z0-9_-]{43}$/

export const createSecret = () => `${PREFIX}${randomBytes(32).toString('base64url')}`

/** Tells a segment of a path that can only be a secret from one that names a method. */
export const isSecret = (text: string) => SECRET.test(text)

export const hashOfSecret = (secret: string) => createHash('sha256').update(secret).digest()

/** For log lines: a path without the secret in it, also where it is mistyped or percent-encoded. */
export const withoutSecrets = (path: string) =>
  path.replace(/(?:t|%74)(?:g|%67)(?:k|%6b)(?:_|%5f)[^/?#]*/gi, `${PREFIX}***`)

/** `methods` are those of each entry: an entry that can be read as no method, or as several, needs all of them allowed. */
export function assertAllowed(
  key: AccessKey,
  call: { caip2: string; methods: readonly string[]; isRest: boolean; origin: string | undefined },
): void {
  const { chains, methods, origins } = key
  if (chains.length > 0 && !chains.includes(call.caip2)) throw forbidden('calls to this chain')
  if (methods.length > 0) {
    if (call.isRest) throw forbidden('REST calls')
    const refused = call.methods.length === 0 || call.methods.some((method) => !methods.includes(method))
    if (refused) throw forbidden('one of these methods')
  }
  if (origins.length > 0 && (call.origin === undefined || !origins.includes(call.origin)))
    throw forbidden('calls from this origin')
}

const forbidden = (what: string) =>
  new ApiError('FORBIDDEN', `This access key does not allow ${what}; its owner can create another one`)

export const unknownKey = () =>
  new ApiError(
    'INVALID_TOKEN',
    'The access key in the path is unknown, has expired or was deleted; create one at POST /keys',
  )

/** Before it forwards, a call of a key that has a limit is charged against it: `spend` decides. */
export const keyLimitReached = () =>
  new ApiError(
    'FORBIDDEN',
    'This access key has spent the credits that its owner allows it, in all or for today (UTC); nothing was charged',
  )
