/** Runs the task once for all who ask. A failed attempt is not kept. */
export function once<T>(task: () => Promise<T>): () => Promise<T> {
  let result: Promise<T> | undefined
  return () =>
    (result ??= task().catch((error: unknown) => {
      result = undefined
      throw error
    }))
}
