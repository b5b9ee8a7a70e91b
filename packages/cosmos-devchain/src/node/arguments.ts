/** Parameter types. In JSON, CometBFT writes 64-bit integers and bytes as strings. */
type Kinds = {
  integer: number
  /** base64 in JSON, `0x...` in a URI. */
  bytes: Uint8Array
  /** Hex in JSON, `0x...` in a URI. */
  hex: Uint8Array
  text: string
  flag: boolean
}
type Kind = keyof Kinds
type Given<A extends Record<string, Kind>> = { [K in keyof A]?: Kinds[A[K]] }

export class ArgumentError extends Error {}

export type Method = {
  /** JSON-RPC: parameters by name or by position. */
  call(parameters: unknown): unknown
  /** `/method?name=value`. */
  callByUri(parameters: URLSearchParams): unknown
}

/** `kinds` is in the order of positional parameters; `run` receives the parsed parameters of the request. */
export function method<A extends Record<string, Kind>>(kinds: A, run: (given: Given<A>) => unknown): Method {
  const names = Object.keys(kinds)
  const read = (valueOf: (name: string) => unknown, parse: (kind: Kind, value: unknown) => unknown) =>
    Object.fromEntries(
      names.flatMap((name) => {
        const value = valueOf(name)
        const kind = kinds[name]
        return value === undefined || value === null || !kind ? [] : [[name, parse(kind, value)]]
      }),
    ) as Given<A>

  return {
    call(parameters) {
      if (parameters === undefined || parameters === null) return run({})
      if (Array.isArray(parameters)) {
        const list: unknown[] = parameters
        if (list.length !== names.length)
          throw new ArgumentError(
            `expected ${names.length} parameters (${names.join(' ')}), got ${list.length}`,
          )
        return run(read((name) => list[names.indexOf(name)], fromJson))
      }
      if (typeof parameters !== 'object')
        throw new ArgumentError('unknown type for JSON params. Expected map or array')
      return run(read((name) => (parameters as Record<string, unknown>)[name], fromJson))
    },
    callByUri: (parameters) => run(read((name) => parameters.get(name) || undefined, fromUri)),
  }
}

function fromJson(kind: Kind, value: unknown): unknown {
  if (kind === 'flag') return expect(typeof value === 'boolean', value, 'a boolean')
  const text = expect(typeof value === 'string', value, 'a string') as string
  if (kind === 'integer') return integer(text)
  if (kind === 'bytes') return bytes(text, 'base64')
  return kind === 'hex' ? bytes(text, 'hex') : text
}

function fromUri(kind: Kind, value: unknown): unknown {
  const text = String(value)
  if (kind === 'flag') {
    if (text !== 'true' && text !== 'false') throw new ArgumentError(`expected a boolean, got ${text}`)
    return text === 'true'
  }
  const quoted = /^"(.*)"$/s.exec(text)?.[1]
  if (kind === 'integer') return integer(quoted ?? text)
  if (/^0x/i.test(text))
    return kind === 'text' ? Buffer.from(text.slice(2), 'hex').toString() : bytes(text.slice(2), 'hex')
  if (quoted === undefined) throw new ArgumentError(`invalid character in ${JSON.stringify(text)}`)
  return kind === 'text' ? quoted : Uint8Array.from(Buffer.from(quoted))
}

function integer(text: string): number {
  const value = Number(text)
  if (!/^-?\d{1,19}$/.test(text) || !Number.isSafeInteger(value))
    throw new ArgumentError(`invalid 64-bit integer: ${JSON.stringify(text)}`)
  return value
}

function bytes(text: string, encoding: 'base64' | 'hex'): Uint8Array {
  const pattern =
    encoding === 'hex' ? /^([0-9a-f]{2})*$/i : /^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/
  if (!pattern.test(text)) throw new ArgumentError(`illegal ${encoding} data`)
  return Uint8Array.from(Buffer.from(text, encoding))
}

function expect(holds: boolean, value: unknown, what: string) {
  if (!holds) throw new ArgumentError(`expected ${what}, got ${JSON.stringify(value)}`)
  return value
}
