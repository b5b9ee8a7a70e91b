/** A failure that whoever runs the service can mend: the message is written for them and needs no stack. */
export class DatabaseProblem extends Error {
  override readonly name = 'DatabaseProblem'
}
