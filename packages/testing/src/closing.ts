const opened: (() => unknown)[] = []

/** Remembers how to close what a test opened, beside the line that opened it. */
export const closeLater = (close: () => unknown) => void opened.push(close)

/** For afterAll: closes what was opened, last first. */
export async function closeAll() {
  for (let close = opened.pop(); close !== undefined; close = opened.pop()) await close()
}
