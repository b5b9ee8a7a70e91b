const closers: (() => unknown)[] = []

/** Closes a resource in {@link closeAll}. */
export const closeLater = (close: () => unknown) => void closers.push(close)

/** For afterAll: closes in reverse order. */
export async function closeAll() {
  for (let close = closers.pop(); close !== undefined; close = closers.pop()) await close()
}
