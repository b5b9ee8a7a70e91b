/** The promise's result, or the result of `onTimeout` (which may throw) if the promise is still pending after `ms`. */
export async function withTimeout<T, U>(ms: number, promise: Promise<T>, onTimeout: () => U): Promise<T | U> {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<void>((resolve) => (timer = setTimeout(resolve, ms))).then(onTimeout)
  return Promise.race([promise, timeout]).finally(() => clearTimeout(timer))
}
