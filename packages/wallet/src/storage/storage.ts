/**
 * Where sessions and payments are kept, and what several tabs or processes of one wallet share. Keys are of letters, digits and
 * `.:_-/`; values are text.
 */
export type WalletStorage = {
  get(key: string): Promise<string | undefined>
  /** Replaces the whole value at once. Durable when it resolves. */
  set(key: string, value: string): Promise<void>
  /**
   * Returns false, and changes nothing, if the key exists. Of several at once, in any tab or process, one wins. Durable when it
   * resolves: a payment is sent only after that.
   */
  create(key: string, value: string): Promise<boolean>
  delete(key: string): Promise<void>
  /** The keys that start with `prefix`, sorted by their code units. */
  list(prefix: string): Promise<string[]>
  /**
   * Runs `task` while no other tab or process runs one under this name, and frees the name when a tab or process ends. It saves
   * prompts and requests; that no payment is made twice does not depend on it. A `signal` ends the waiting, with its reason, and
   * not the task.
   */
  lock<T>(name: string, task: () => Promise<T>, signal?: AbortSignal): Promise<T>
  /** The same, or undefined at once, without running `task`, if the name is taken. */
  tryLock<T>(name: string, task: () => Promise<T>): Promise<T | undefined>
}
