/**
 * The result of the promise, or of `onTimeout` (which may throw) after the timeout. The promise is not
 * cancelled.
 */
export async function withTimeout<T, L>(
  promise: Promise<T>,
  timeoutMs: number,
  onTimeout: () => L,
): Promise<T | L> {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, timeoutMs)
  }).then(onTimeout)
  try {
    return await Promise.race([promise, timeout])
  } finally {
    clearTimeout(timer)
  }
}
