import { type Tollgate } from '@tollgate/wallet'
import { closeSync, constants, fchmodSync, openSync, writeSync } from 'node:fs'
import { type AmountFormat } from './amounts'
import { entryOf, type LoggedEvent, type PaymentEntry } from './payment-entry'

const LOGGED: readonly LoggedEvent[] = ['paid', 'pending', 'limit-reached']

/** Hands each payment, pending payment and refusal by a limit to every sink. Returns what ends it. */
export function journalPayments(
  tollgate: Tollgate,
  sinks: readonly ((entry: PaymentEntry) => void)[],
  { now, format }: { now: () => Date; format: AmountFormat },
): () => void {
  const stops = LOGGED.map((event) =>
    tollgate.on(event, (payment) => {
      const entry = entryOf(event, payment, { now: now(), format })
      for (const sink of sinks) sink(entry)
    }),
  )
  return () => stops.forEach((stop) => stop())
}

/** Appends lines to a file that its owner alone may read, also if it existed. @throws Error if it cannot be opened */
export function openLogFile(path: string): { append(line: string): void; close(): void } {
  const { O_APPEND, O_CREAT, O_NOFOLLOW, O_WRONLY } = constants
  const file = openSync(path, O_APPEND | O_CREAT | O_NOFOLLOW | O_WRONLY, 0o600)
  fchmodSync(file, 0o600)
  return { append: (line) => void writeSync(file, `${line}\n`), close: () => closeSync(file) }
}
