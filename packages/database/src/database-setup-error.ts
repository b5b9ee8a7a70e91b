/** A failure that the operator can fix: the message says how, and needs no stack. */
export class DatabaseSetupError extends Error {
  override readonly name = 'DatabaseSetupError'
}
