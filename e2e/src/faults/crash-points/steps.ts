/**
 * What leaves a process, or comes back to it, when it has reached a step. `committed` is told when the answer is there and,
 * of a statement inside a transaction, when that of the commit is; of a statement that changed nothing never. `values` are
 * those of a statement, `asked` is what a question was asked with.
 */
export type Trigger =
  | { sql: RegExp; when: 'sent' | 'committed'; of?: (values: readonly unknown[]) => boolean }
  | { rpc: string; answered: (result: unknown, asked: unknown) => boolean }
  | { http: RegExp; answer: RegExp }

type Point = {
  trigger: Trigger
  /** What is done and what is not, when the process dies. */
  says: string
  /** Reached once for each payment, so that not only the first of them may be the last. */
  isForEach: boolean
}

/** Those of every facilitator, whatever chain it settles on. */
const claimed: Point = {
  trigger: { sql: /insert into settlements/i, when: 'committed' },
  says: 'the claim is committed, nothing is signed',
  isForEach: true,
}
const recorded: Point = {
  trigger: {
    sql: /pg_notify\('settlement_final'/i,
    when: 'committed',
    of: (values) => tell(values, 'settled'),
  },
  says: 'the end is committed, and nobody is told',
  isForEach: false,
}
const answered: Point = {
  trigger: { http: /^\/api\/v\d\/settle\b/, answer: /"success":true/ },
  says: 'success is handed to the socket',
  isForEach: true,
}

/** Where a facilitator is killed while it settles on an EVM chain. */
export const facilitatorPoints = {
  claimed,
  signed: {
    trigger: { sql: /insert into transactions\b/i, when: 'sent' },
    says: 'the transaction is signed, and not stored',
    isForEach: false,
  },
  stored: {
    trigger: { sql: /insert into transactions\b/i, when: 'committed' },
    says: 'the transaction is stored, and not sent',
    isForEach: false,
  },
  broadcast: {
    trigger: { rpc: 'eth_sendRawTransaction', answered: (result) => typeof result === 'string' },
    says: 'the node has taken the transaction, and nobody has written that down',
    isForEach: false,
  },
  mined: {
    trigger: { rpc: 'eth_getTransactionReceipt', answered: (result) => result !== null },
    says: 'the node has shown the receipt, and nothing of it is recorded',
    isForEach: false,
  },
  recorded,
  answered,
} satisfies Record<string, Point>

/** Where it is killed while it settles on a Cosmos chain, where it may have to grant an allowance before. */
export const cosmosFacilitatorPoints = {
  claimed,
  'grant-signed': {
    trigger: { sql: /insert into transactions\b/i, when: 'sent', of: isOfGrant },
    says: 'the allowances are signed, and not stored',
    isForEach: false,
  },
  'grant-stored': {
    trigger: { sql: /insert into transactions\b/i, when: 'committed', of: isOfGrant },
    says: 'the transaction with the allowances is stored, and not sent',
    isForEach: false,
  },
  'grant-sent': {
    trigger: { rpc: 'broadcast_tx_sync', answered: (result, asked) => isTaken(result) && isGrant(asked) },
    says: 'the node has taken the allowances, and nobody has written that down',
    isForEach: false,
  },
  'grant-mined': {
    trigger: { rpc: 'tx', answered: (result) => isGrant(result) },
    says: 'the node has shown the allowances in a block, and nothing of it is recorded',
    isForEach: false,
  },
  granted: {
    trigger: {
      sql: /pg_notify\('settlement_final'/i,
      when: 'committed',
      of: (values) => tell(values, 'claimed'),
    },
    says: 'the allowances are recorded, and the payments not sent',
    isForEach: false,
  },
  'payment-stored': {
    trigger: {
      sql: /insert into transactions\b/i,
      when: 'committed',
      of: (values) => !isOfGrant(values),
    },
    says: 'the payer’s transaction is stored, and not sent',
    isForEach: true,
  },
  'payment-sent': {
    trigger: { rpc: 'broadcast_tx_sync', answered: (result, asked) => isTaken(result) && !isGrant(asked) },
    says: 'the node has taken the payer’s transaction, and nobody has written that down',
    isForEach: true,
  },
  'payment-mined': {
    trigger: { rpc: 'tx', answered: (result) => result !== undefined && !isGrant(result) },
    says: 'the node has shown the payer’s transaction in a block, and nothing of it is recorded',
    isForEach: true,
  },
  recorded,
  answered,
} satisfies Record<string, Point>

/** Where a gateway is killed while a payment is made. */
export const gatewayPoints = {
  received: {
    trigger: { sql: /insert into payments\b/i, when: 'committed' },
    says: 'the payment is written down, and nobody asked to settle it',
    isForEach: true,
  },
  settling: {
    trigger: { sql: /update payments set status = 'settling', attempts/i, when: 'committed' },
    says: 'the right to ask the facilitator is taken, and the question not sent',
    isForEach: true,
  },
  settled: {
    trigger: { sql: /update payments set status = 'settled'/i, when: 'committed' },
    says: 'the settlement is written down, and nothing granted',
    isForEach: true,
  },
  credited: {
    trigger: { sql: /insert into grants\b/i, when: 'committed' },
    says: 'the credits are granted, and the call is not answered',
    isForEach: true,
  },
} satisfies Record<string, Point>

export type Step =
  keyof typeof facilitatorPoints | keyof typeof cosmosFacilitatorPoints | keyof typeof gatewayPoints

export const points: Record<Step, Point> = {
  ...facilitatorPoints,
  ...cosmosFacilitatorPoints,
  ...gatewayPoints,
}

/** Whether a statement, or a list in it, has this word as a value. */
function tell(values: readonly unknown[], word: string): boolean {
  return values.flat().includes(word)
}

/** Of the statement that stores a transaction: whether it is one that has to come before its payers' own. */
function isOfGrant(values: readonly unknown[]): boolean {
  return values.includes(true)
}

function isTaken(result: unknown): boolean {
  return (result as { code?: number } | undefined)?.code === 0
}

/** Whether the transaction in a question or an answer grants allowances: the names of its messages are in its bytes. */
function isGrant(message: unknown): boolean {
  const { tx } = (message ?? {}) as { tx?: string }
  return tx !== undefined && Buffer.from(tx, 'base64').includes('MsgGrantAllowance')
}
