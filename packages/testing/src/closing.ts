const closers: (() => unknown)[] = []

export const closeLater = (close: () => unknown) => void closers.push(close)

export async function closeAll() {
  for (let close = closers.pop(); close !== undefined; close = closers.pop()) await close()
}
