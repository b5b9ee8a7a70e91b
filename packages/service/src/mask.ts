const MASK = '[masked]'

/** Names of fields whose value is a secret, or signs for money, whatever the way they are written. */
const secretName =
  /authorization|cookie|token|secret|password|passphrase|passwd|mnemonic|credential|signature|jwt|^x?-?_?payment(-?_?(header|payload|proof))?$|^proof$|^seed$|(private|api|secret|signing|client|encryption|settlement)[-_]?key/i

/** Of all the values in one field, however they are nested. */
const MAX_VALUES = 200
/** An error has a stack: that of ten causes is enough. */
const VALUES_OF_AN_ERROR = 20
const MAX_TEXT = 2_000
const MAX_STACK = 8_000

/**
 * A field's value fit for a log line: masked where its name or its shape says that it is a secret, bounded in size,
 * errors with their causes, and what JSON cannot say as text.
 */
export function maskedField(name: string, value: unknown): unknown {
  return named(name, value, { values: MAX_VALUES })
}

type Left = { values: number }

function named(name: string, value: unknown, left: Left): unknown {
  const isSecret =
    value !== null && value !== undefined && typeof value !== 'boolean' && secretName.test(name)
  return isSecret ? MASK : masked(value, left)
}

function masked(value: unknown, left: Left): unknown {
  if (typeof value === 'string') return maskedText(value)
  if (typeof value === 'bigint') return value.toString()
  if (typeof value === 'function' || typeof value === 'symbol') return undefined
  if (typeof value !== 'object' || value === null) return value
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'invalid date' : value.toISOString()
  if (value instanceof URL) return maskedText(value.href)
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`
  if (left.values <= 0) return '[more]'
  if (value instanceof Error) return maskedError(value, left)
  if (Array.isArray(value)) return taken(value, left).map((item) => masked(item, left))
  return Object.fromEntries(
    taken(Object.entries(value), left).map(([name, field]) => [name, named(name, field, left)]),
  )
}

/** As many of the items as there are values left. */
function taken<T>(items: readonly T[], left: Left) {
  const some = items.slice(0, left.values)
  left.values -= some.length
  return some
}

/** What all the shapes below have in them: most texts of a log line have none of it. */
const mayHoldSecret = /:\/\/|=|eyJ|bearer|basic/i

/** A text with the secrets masked that show by their shape. */
function maskedText(text: string, maxLength = MAX_TEXT): string {
  const bounded = text.length > maxLength ? `${text.slice(0, maxLength)}…` : text
  if (!mayHoldSecret.test(bounded)) return bounded
  return bounded
    .replace(/:\/\/[^\s/?#]*@/g, `://${MASK}@`)
    .replace(
      /([?&;](?:password|token|secret|key|api_?key|access_token|refresh_token)=)[^\s&;#]+/gi,
      `$1${MASK}`,
    )
    .replace(/\b(Bearer|Basic)\s+[^\s"',]+/gi, `$1 ${MASK}`)
    .replace(/(?<![\w-])eyJ[\w-]+\.[\w-]+\.[\w-]*/g, MASK)
}

/** Only what is known to be harmless: the errors of HTTP clients and of databases carry headers, bodies and rows. */
function maskedError(error: Error, left: Left) {
  left.values -= VALUES_OF_AN_ERROR
  const { name, message, stack, cause, code, errors } = error as Error & Record<'code' | 'errors', unknown>
  return {
    name,
    message: maskedText(message),
    ...(typeof code === 'string' || typeof code === 'number' ? { code } : {}),
    ...(stack ? { stack: maskedText(stack, MAX_STACK) } : {}),
    ...(cause === undefined ? {} : { cause: masked(cause, left) }),
    ...(Array.isArray(errors) ? { errors: masked(errors, left) } : {}),
  }
}
