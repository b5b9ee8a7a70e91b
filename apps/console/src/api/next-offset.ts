/** For pages without a cursor: a page that is not full is the last one. */
export const nextOffset =
  (size: number) =>
  (last: readonly unknown[], _all: unknown, offset: number): number | undefined =>
    last.length < size ? undefined : offset + size
