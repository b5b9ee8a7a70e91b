import { type OperatorSettlement } from '@tollgate/protocol'
import { operator } from '../texts'

/** The names are those of `GET /admin/settlements`, and of the address of the page. */
const searchNames = ['transaction', 'payer', 'from', 'to', 'endedWithinHours'] as const
export type SearchName = (typeof searchNames)[number]

export type Filters = { state: ListedState } & Partial<Record<SearchName, string>>
export type ListedState = keyof typeof operator.settlements.states

const searchedStates: readonly ListedState[] = ['settled', 'failed', 'any']

/** Whether a list of this state can be searched. */
export const isSearched = ({ state }: Pick<Filters, 'state'>): boolean => searchedStates.includes(state)

const isState = (text: string): text is ListedState => Object.hasOwn(operator.settlements.states, text)

const isDayName = (name: SearchName) => name === 'from' || name === 'to'

const isDay = (text: string) => /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(`${text}T00:00`))

/** A search without a state is one of any state. What no list can be filtered by is ignored. */
export function readFilters(query: URLSearchParams): Filters {
  const given = Object.fromEntries(
    searchNames.flatMap((name) => {
      const value = query.get(name) ?? ''
      return value === '' || (isDayName(name) && !isDay(value)) ? [] : [[name, value]]
    }),
  )
  const state = query.get('state') ?? ''
  const fallback = Object.keys(given).length > 0 ? 'any' : 'open'
  const read = { state: isState(state) ? state : fallback } as const
  return isSearched(read) ? { ...read, ...given } : read
}

/** Another state keeps a search that it can have. */
export const withState = (filters: Filters, state: ListedState): Filters =>
  isSearched({ state }) ? { ...filters, state } : { state }

export const withSearch = (filters: Filters, changes: Partial<Record<SearchName, string>>): Filters => ({
  ...filters,
  state: isSearched(filters) ? filters.state : 'any',
  ...changes,
})

export type Wanted = { id?: string; transaction?: string; payer?: string }

/** A number has a page of its own; a hash has 64 hex digits. */
export function wantedBy(text: string): Wanted {
  if (/^[0-9]{1,18}$/.test(text)) return { id: text }
  return /^(0x)?[0-9a-f]{64}$/i.test(text) ? { transaction: text } : { payer: text }
}

/** The query of the API: days are those of the reader. */
export const toQuery = ({ from, to, ...others }: Filters) => ({
  ...others,
  ...(from === undefined ? {} : { from: new Date(`${from}T00:00`).toISOString() }),
  ...(to === undefined ? {} : { to: new Date(`${to}T23:59:59.999`).toISOString() }),
})

export const toneOf = ({ state, isStuck }: Pick<OperatorSettlement, 'state' | 'isStuck'>) =>
  isStuck || state === 'failed' || state === 'reversed' ? 'bad' : state === 'settled' ? 'good' : 'waiting'
