/**
 * The output or input that marks a step. A statement is `committed` when its result (in a transaction, that
 * of the commit) has arrived; never if it changed no row. `values` are its parameters.
 */
export type Trigger =
  | { sql: RegExp; when: 'sent' | 'committed'; of?: (values: readonly unknown[]) => boolean }
  | { rpc: string; answered: (result: unknown, asked: unknown) => boolean }
  | { http: RegExp; answer: RegExp }

type Point = {
  trigger: Trigger
  says: string
  /** Reached once per payment, so that a later payment can trigger it too. */
  isForEach: boolean
}

/** Common to all chain families. */
const claimed: Point = {
  trigger: { sql: /insert into settlements/i, when: 'committed' },
  says: 'the claim is committed, nothing is signed',
  isForEach: false,
}
const recorded: Point = {
  trigger: {
    sql: /pg_notify\('settlement_final'/i,
    when: 'committed',
    of: (values) => hasValue(values, 'settled'),
  },
  says: 'the outcome is committed, not reported',
  isForEach: false,
}
const answered: Point = {
  trigger: { http: /^\/api\/v\d\/settle\b/, answer: /"success":true/ },
  says: 'success is written to the socket',
  isForEach: true,
}

export const facilitatorPoints = {
  claimed,
  signed: {
    trigger: { sql: /insert into transactions\b/i, when: 'sent' },
    says: 'the transaction is signed, not stored',
    isForEach: false,
  },
  stored: {
    trigger: { sql: /insert into transactions\b/i, when: 'committed' },
    says: 'the transaction is stored, not broadcast',
    isForEach: false,
  },
  broadcast: {
    trigger: { rpc: 'eth_sendRawTransaction', answered: (result) => typeof result === 'string' },
    says: 'the node has accepted the transaction, not recorded',
    isForEach: false,
  },
  mined: {
    trigger: { rpc: 'eth_getTransactionReceipt', answered: (result) => result !== null },
    says: 'the node has returned the receipt, not recorded',
    isForEach: false,
  },
  recorded,
  answered,
} satisfies Record<string, Point>

export const cosmosFacilitatorPoints = {
  claimed,
  'grant-signed': {
    trigger: { sql: /insert into transactions\b/i, when: 'sent', of: isOfGrant },
    says: 'the allowances are signed, not stored',
    isForEach: false,
  },
  'grant-stored': {
    trigger: { sql: /insert into transactions\b/i, when: 'committed', of: isOfGrant },
    says: 'the fee grant is stored, not broadcast',
    isForEach: false,
  },
  'grant-sent': {
    trigger: { rpc: 'broadcast_tx_sync', answered: (result, asked) => isTaken(result) && isGrant(asked) },
    says: 'the node has accepted the fee grant, not recorded',
    isForEach: false,
  },
  'grant-mined': {
    trigger: { rpc: 'tx', answered: (result) => isGrant(result) },
    says: 'the node has shown the fee grant in a block, not recorded',
    isForEach: false,
  },
  granted: {
    trigger: {
      sql: /pg_notify\('settlement_final'/i,
      when: 'committed',
      of: (values) => hasValue(values, 'claimed'),
    },
    says: 'the fee grant is recorded, the payments not sent',
    isForEach: false,
  },
  'payment-stored': {
    trigger: {
      sql: /insert into transactions\b/i,
      when: 'committed',
      of: (values) => !isOfGrant(values),
    },
    says: 'the payer’s transaction is stored, not broadcast',
    isForEach: true,
  },
  'payment-sent': {
    trigger: { rpc: 'broadcast_tx_sync', answered: (result, asked) => isTaken(result) && !isGrant(asked) },
    says: 'the node has accepted the payer’s transaction, not recorded',
    isForEach: true,
  },
  'payment-mined': {
    trigger: { rpc: 'tx', answered: (result) => result !== undefined && !isGrant(result) },
    says: 'the node has shown the payer’s transaction in a block, not recorded',
    isForEach: true,
  },
  recorded,
  answered,
} satisfies Record<string, Point>

export const gatewayPoints = {
  received: {
    trigger: { sql: /insert into payments\b/i, when: 'committed' },
    says: 'the payment is stored, no settlement requested',
    isForEach: true,
  },
  settling: {
    trigger: { sql: /update payments set status = 'settling', attempts/i, when: 'committed' },
    says: 'the lease to ask the facilitator is taken, the request not sent',
    isForEach: true,
  },
  settled: {
    trigger: { sql: /update payments set status = 'settled'/i, when: 'committed' },
    says: 'the settlement is recorded, no credits granted',
    isForEach: true,
  },
  credited: {
    trigger: { sql: /insert into grants\b/i, when: 'committed' },
    says: 'the credits are granted, the call not answered',
    isForEach: true,
  },
} satisfies Record<string, Point>

/** Of a payment without a sign-in, which pays for one call. */
export const payPerRequestPoints = {
  ...gatewayPoints,
  spent: {
    trigger: { sql: /update payments set call_state = 'reserved'/i, when: 'committed' },
    says: 'the call is paid for, not forwarded',
    isForEach: true,
  },
} satisfies Record<string, Point>

export type Step =
  | keyof typeof facilitatorPoints
  | keyof typeof cosmosFacilitatorPoints
  | keyof typeof payPerRequestPoints

export const points: Record<Step, Point> = {
  ...facilitatorPoints,
  ...cosmosFacilitatorPoints,
  ...payPerRequestPoints,
}

function hasValue(values: readonly unknown[], word: string): boolean {
  return values.flat().includes(word)
}

function isOfGrant(values: readonly unknown[]): boolean {
  return values.includes(true)
}

function isTaken(result: unknown): boolean {
  return (result as { code?: number } | undefined)?.code === 0
}

/**
 * Whether the transaction in a request or response grants allowances: its bytes contain the message names.
 */
function isGrant(message: unknown): boolean {
  const { tx } = (message ?? {}) as { tx?: string }
  return tx !== undefined && Buffer.from(tx, 'base64').includes('MsgGrantAllowance')
}
