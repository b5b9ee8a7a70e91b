const STALE_MS = 5_000

/** A list of many pages is read again only when the reader asks for it: all of its pages would be. */
export const staleUnlessLong = ({
  state,
}: {
  state: { data: { pages: readonly unknown[] } | undefined }
}): number => ((state.data?.pages.length ?? 0) > 1 ? Infinity : STALE_MS)
