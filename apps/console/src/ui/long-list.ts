const STALE_MS = 5_000

/** For infinite queries that may have 100,000 rows. */
export const longList = {
  /** A list of many pages is read again only when the reader asks for it: all of its pages would be. */
  staleTime: ({ state }: { state: { data: { pages: readonly unknown[] } | undefined } }): number =>
    (state.data?.pages.length ?? 0) > 1 ? Infinity : STALE_MS,
  /** Would compare all rows with each page that is added. */
  structuralSharing: false,
} as const
