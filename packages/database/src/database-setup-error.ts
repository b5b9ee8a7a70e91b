export class DatabaseSetupError extends Error {
  override readonly name = 'DatabaseSetupError'
}
