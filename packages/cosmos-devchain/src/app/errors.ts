/** An ABCI error: the codespace and code that the Cosmos SDK registers for it, and a log. */
export class AbciError extends Error {
  constructor(
    readonly codespace: string,
    readonly code: number,
    log: string,
  ) {
    super(log)
  }
}

/** `types/errors/errors.go`, `x/feegrant/errors.go` and `x/bank/types/errors.go` of Cosmos SDK 0.53. */
const registered = {
  'tx parse error': ['sdk', 2],
  unauthorized: ['sdk', 4],
  'insufficient funds': ['sdk', 5],
  'unknown request': ['sdk', 6],
  'invalid address': ['sdk', 7],
  'invalid pubkey': ['sdk', 8],
  'unknown address': ['sdk', 9],
  'invalid coins': ['sdk', 10],
  'out of gas': ['sdk', 11],
  'memo too large': ['sdk', 12],
  'insufficient fee': ['sdk', 13],
  'maximum number of signatures exceeded': ['sdk', 14],
  'no signatures supplied': ['sdk', 15],
  'invalid request': ['sdk', 18],
  'tx already in mempool': ['sdk', 19],
  'key not found': ['sdk', 22],
  'invalid height': ['sdk', 26],
  'tx timeout height': ['sdk', 30],
  'unknown extension options': ['sdk', 31],
  'incorrect account sequence': ['sdk', 32],
  'internal logic error': ['sdk', 35],
  'feature not supported': ['sdk', 37],
  'not found': ['sdk', 38],
  'invalid gas limit': ['sdk', 41],
  'tx timeout': ['sdk', 42],
  'fee limit exceeded': ['feegrant', 2],
  'fee allowance expired': ['feegrant', 3],
  'invalid duration': ['feegrant', 4],
  'no allowance': ['feegrant', 5],
  'allowed messages are empty': ['feegrant', 6],
  'message not allowed': ['feegrant', 7],
  'no inputs to send transaction': ['bank', 2],
  'no outputs to send transaction': ['bank', 3],
  'sum inputs != sum outputs': ['bank', 4],
  'send transactions are disabled': ['bank', 5],
  'multiple senders not allowed': ['bank', 9],
  internal: ['undefined', 1],
  panic: ['undefined', 111_222],
} as const satisfies Record<string, readonly [string, number]>

/** The registered error with this description. Its log has the SDK's wrapped form: reason, colon, description. */
export function sdkError(description: keyof typeof registered, detail?: string): AbciError {
  const [codespace, code] = registered[description]
  return new AbciError(codespace, code, detail === undefined ? description : `${detail}: ${description}`)
}

/** The same error with a prefix in its log. */
export function wrapped(error: unknown, doing: string): unknown {
  return error instanceof AbciError
    ? new AbciError(error.codespace, error.code, `${doing}: ${error.message}`)
    : error
}
