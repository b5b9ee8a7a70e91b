const MASK = '[masked]'

/** Fields whose value is a secret or authorizes a payment, in any naming style. */
const secretName =
  /authorization|cookie|token|secret|password|passphrase|passwd|mnemonic|credential|signature|jwt|^x?-?_?payment(-?_?(header|payload|proof))?$|^proof$|^seed$|(private|api|secret|signing|client|encryption|settlement)[-_]?key/i

/** Per field, nested values included. */
const MAX_VALUES = 200
/** Limits a field to ten errors, because each has a stack. */
const VALUES_PER_ERROR = 20
const MAX_TEXT = 2_000
const MAX_STACK = 8_000

/**
 * A field's value for a log line: masked if its name or shape is that of a secret, limited in size, and as JSON; an error
 * includes its causes.
 */
export function redactField(name: string, value: unknown): unknown {
  return redactMember(name, value, { remaining: MAX_VALUES })
}

type Budget = { remaining: number }

function redactMember(name: string, value: unknown, budget: Budget): unknown {
  const isSecret =
    value !== null && value !== undefined && typeof value !== 'boolean' && secretName.test(name)
  return isSecret ? MASK : redactValue(value, budget)
}

function redactValue(value: unknown, budget: Budget): unknown {
  if (typeof value === 'string') return redactText(value)
  if (typeof value === 'bigint') return value.toString()
  if (typeof value === 'function' || typeof value === 'symbol') return undefined
  if (typeof value !== 'object' || value === null) return value
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'invalid date' : value.toISOString()
  if (value instanceof URL) return redactText(value.href)
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`
  if (budget.remaining <= 0) return '[more]'
  if (value instanceof Error) return redactError(value, budget)
  if (Array.isArray(value)) return limited(value, budget).map((item) => redactValue(item, budget))
  return Object.fromEntries(
    limited(Object.entries(value), budget).map(([name, field]) => [name, redactMember(name, field, budget)]),
  )
}

function limited<T>(items: readonly T[], budget: Budget) {
  const some = items.slice(0, budget.remaining)
  budget.remaining -= some.length
  return some
}

/** A fast test for the patterns below: most texts contain none of them. */
const mayHoldSecret = /:\/\/|=|eyJ|bearer|basic/i

function redactText(text: string, maxLength = MAX_TEXT): string {
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

/** Only these members: errors of HTTP clients and databases contain headers, bodies and rows. */
function redactError(error: Error, budget: Budget) {
  budget.remaining -= VALUES_PER_ERROR
  const { name, message, stack, cause, code, errors } = error as Error & Record<'code' | 'errors', unknown>
  return {
    name,
    message: redactText(message),
    ...(typeof code === 'string' || typeof code === 'number' ? { code } : {}),
    ...(stack ? { stack: redactText(stack, MAX_STACK) } : {}),
    ...(cause === undefined ? {} : { cause: redactValue(cause, budget) }),
    ...(Array.isArray(errors) ? { errors: redactValue(errors, budget) } : {}),
  }
}
