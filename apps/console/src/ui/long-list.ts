const STALE_MS = 5_000
const REFRESH_MS = 10_000

type ListState = { state: { data: { pages: readonly unknown[] } | undefined; status?: string } }

const isLong = ({ state }: ListState) => (state.data?.pages.length ?? 0) > 1

/** For infinite queries that may have 100,000 rows. */
export const longList = {
  /** A list of many pages is read again only when the reader asks for it: all of its pages would be. */
  staleTime: (query: ListState): number => (isLong(query) ? Infinity : STALE_MS),
  /** After an error the reader decides, so that a page that fails is not asked for again and again. */
  refetchInterval: (query: ListState): number | false =>
    isLong(query) || query.state.status === 'error' ? false : REFRESH_MS,
  /** Would compare all rows with each page that is added. */
  structuralSharing: false,
} as const
