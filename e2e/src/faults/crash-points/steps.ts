/**
 * What leaves a process, or comes back to it, when it has reached a step. `committed` is told when the answer is there and,
 * of a statement inside a transaction, when that of the commit is; of a statement that changed nothing never.
 */
export type Trigger =
  | { sql: RegExp; when: 'sent' | 'committed' }
  | { rpc: string; answered: (result: unknown) => boolean }
  | { http: RegExp; answer: RegExp }

type Point = {
  trigger: Trigger
  /** What is done and what is not, when the process dies. */
  says: string
  /** Reached once for each payment, so that not only the first of them may be the last. */
  isForEach: boolean
}

/** Where a facilitator is killed while it settles. */
export const facilitatorPoints = {
  claimed: {
    trigger: { sql: /insert into settlements/i, when: 'committed' },
    says: 'the claim is committed, nothing is signed',
    isForEach: true,
  },
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
  recorded: {
    trigger: { sql: /pg_notify\('settlement_final'/i, when: 'committed' },
    says: 'the end is committed, and nobody is told',
    isForEach: false,
  },
  answered: {
    trigger: { http: /^\/api\/v\d\/settle\b/, answer: /"success":true/ },
    says: 'success is handed to the socket',
    isForEach: true,
  },
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

export type Step = keyof typeof facilitatorPoints | keyof typeof gatewayPoints

export const points: Record<Step, Point> = { ...facilitatorPoints, ...gatewayPoints }
