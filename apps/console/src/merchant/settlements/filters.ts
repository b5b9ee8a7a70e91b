import { settlementStates } from './settlement'

/** Of `GET /settlements`, with its names, also in the address of the page. */
const filterNames = [
  'state',
  'network',
  'clientId',
  'payer',
  'recipient',
  'resource',
  'transaction',
  'paymentIdentifier',
  'from',
  'to',
] as const
type FilterName = (typeof filterNames)[number]
export type Filters = Partial<Record<FilterName, string>>

/** What the search box may look for; one at a time. */
export const searchNames = [
  'transaction',
  'paymentIdentifier',
  'payer',
  'recipient',
  'resource',
  'clientId',
] as const
export type SearchName = (typeof searchNames)[number]

/** Of the calendar: `2026-02-30` is none. */
function isDay(text: string): boolean {
  const date = new Date(`${text}T00:00Z`)
  return (
    /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text)
  )
}

const isUsable: Partial<Record<FilterName, (value: string) => boolean>> = {
  state: (value) => settlementStates.some((state) => state === value),
  from: isDay,
  to: isDay,
}

/** What the address names; what cannot be a filter is ignored. */
export function readFilters(search: string): Filters {
  const query = new URLSearchParams(search)
  return Object.fromEntries(
    filterNames.flatMap((name) => {
      const value = query.get(name) ?? ''
      return value !== '' && (isUsable[name]?.(value) ?? true) ? [[name, value]] : []
    }),
  )
}

/** Without those that are empty. */
export function writeFilters(filters: Filters): string {
  const given = filterNames.flatMap((name) => {
    const value = filters[name]
    return value === undefined || value === '' ? [] : [[name, value]]
  })
  return new URLSearchParams(given).toString()
}

const SHAPES: [name: SearchName, pattern: RegExp][] = [
  ['transaction', /^(0x)?[0-9a-f]{64}$/i],
  ['payer', /^0x[0-9a-f]{40}$/i],
  ['payer', /^[a-z][a-z0-9]*1[02-9ac-hj-np-z]{38,58}$/],
  ['clientId', /^client_[\w-]+$/],
  ['resource', /^(https?:\/\/|\/)/],
]

/** What a text in the search box is, by its shape. */
export const searchNameOf = (text: string): SearchName =>
  SHAPES.find(([, pattern]) => pattern.test(text))?.[0] ?? 'paymentIdentifier'

/** The number of a settlement, which has a page. A payment identifier has 16 characters at least. */
export const isSettlementId = (text: string) => /^[0-9]{1,15}$/.test(text)

export const searched = (filters: Filters): { name: SearchName; text: string } | undefined => {
  for (const name of searchNames) {
    const text = filters[name]
    if (text !== undefined) return { name, text }
  }
  return undefined
}

/** The filters with another search in the place of the current one. */
export const withSearch = (
  filters: Filters,
  search: { name: SearchName; text: string } | undefined,
): Filters => ({
  ...Object.fromEntries(
    Object.entries(filters).filter(([name]) => !searchNames.some((other) => other === name)),
  ),
  ...(search ? { [search.name]: search.text } : {}),
})

/** The query of the API: days are those of the reader, as the times of the list are. */
export const toQuery = ({ from, to, ...others }: Filters) => ({
  ...others,
  ...(from === undefined ? {} : { from: new Date(`${from}T00:00`).toISOString() }),
  ...(to === undefined ? {} : { to: new Date(`${to}T23:59:59.999`).toISOString() }),
})
