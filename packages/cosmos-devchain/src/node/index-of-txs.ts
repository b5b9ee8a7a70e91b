import { type Event } from '../app/context'
import { type TxResult } from '../app/run-tx'
import { hashOf } from '../app/tx'
import { type Block } from './block'

export type IndexedTx = {
  hash: string
  height: number
  index: number
  bytes: Uint8Array
  result: TxResult
}

/** Transactions by hash and by event attribute. */
export function createTxIndex() {
  const byHash = new Map<string, IndexedTx>()
  const byAttribute = new Map<string, Set<string>>()

  return {
    /** A failed transaction never replaces a successful one with the same hash. */
    add({ header, txs, results }: Block) {
      txs.forEach((bytes, index) => {
        const result = results[index]
        const hash = hashOf(bytes)
        if (!result || (byHash.get(hash)?.result.code === 0 && result.code !== 0)) return
        byHash.set(hash, { hash, height: header.height, index, bytes, result })
        for (const [key, value] of attributesOf(result.events)) {
          const name = `${key}=${value}`
          const hashes = byAttribute.get(name) ?? new Set()
          byAttribute.set(name, hashes.add(hash))
        }
      })
    },

    get: (hash: string) => byHash.get(hash.toUpperCase()),

    /** In chain order. Throws if the query is invalid. */
    search(query: string): IndexedTx[] {
      const conditions = parseQuery(query)
      const candidates = narrowest(conditions) ?? [...byHash.values()]
      return candidates
        .filter((tx) => conditions.every((condition) => holds(condition, tx)))
        .sort((a, b) => a.height - b.height || a.index - b.index)
    },
  }

  function narrowest(conditions: Condition[]): IndexedTx[] | undefined {
    for (const { key, operator, value } of conditions) {
      if (operator !== '=') continue
      if (key === 'tx.hash') return [byHash.get(value.toUpperCase())].filter((tx) => tx !== undefined)
      if (key !== 'tx.height')
        return [...(byAttribute.get(`${key}=${value}`) ?? [])].flatMap((hash) => byHash.get(hash) ?? [])
    }
    return undefined
  }
}

type Condition = {
  key: string
  operator: '=' | '<' | '<=' | '>' | '>=' | 'CONTAINS' | 'EXISTS'
  value: string
}

const CONDITION =
  /^\s*([\w.:/-]+)\s*(?:(<=|>=|=|<|>|CONTAINS)\s*(?:'([^']*)'|(-?\d+(?:\.\d+)?|TIME \S+|DATE \S+))|(EXISTS))\s*/

/** `tx.height>5 AND transfer.recipient='cosmos1...'`. */
function parseQuery(query: string): Condition[] {
  const conditions: Condition[] = []
  let rest = query
  do {
    const [whole, key = '', operator, text, number, exists] = CONDITION.exec(rest) ?? []
    if (whole === undefined) throw syntaxError(query, rest)
    conditions.push({
      key,
      operator: (operator ?? exists) as Condition['operator'],
      value: text ?? number ?? '',
    })
    rest = rest.slice(whole.length)
    if (rest !== '' && !rest.startsWith('AND ')) throw syntaxError(query, rest)
    rest = rest.slice(4)
  } while (rest !== '')
  return conditions
}

/** CometBFT names the offset at which the invalid condition starts. */
function syntaxError(query: string, rest: string) {
  const isCutShort = /^\s*[\w.:/-]*\s*$/.test(rest)
  return new Error(`offset ${isCutShort ? query.length : query.length - rest.length}: EOF`)
}

function holds({ key, operator, value }: Condition, { hash, height, result }: IndexedTx): boolean {
  if (key === 'tx.hash') return operator === '=' && value.toUpperCase() === hash
  const values =
    key === 'tx.height'
      ? [String(height)]
      : attributesOf(result.events).flatMap(([name, of]) => (name === key ? [of] : []))
  return values.some((of) => compares(of, operator, value))
}

function compares(actual: string, operator: Condition['operator'], value: string): boolean {
  switch (operator) {
    case 'EXISTS':
      return true
    case 'CONTAINS':
      return actual.includes(value)
    case '=':
      return actual === value
    case '<':
      return Number(actual) < Number(value)
    case '<=':
      return Number(actual) <= Number(value)
    case '>':
      return Number(actual) > Number(value)
    case '>=':
      return Number(actual) >= Number(value)
  }
}

const attributesOf = (events: readonly Event[]) =>
  events.flatMap(({ type, attributes }) =>
    attributes.map(({ key, value }) => [`${type}.${key}`, value] as const),
  )
