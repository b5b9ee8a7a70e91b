import { type LedgerQueries, type UsageRow } from '@tollgate/e2e/testing/ledger-queries'
import { resourceOf } from '@tollgate/e2e/testing/callers'
import { type CountingUpstream } from '@tollgate/e2e/testing/upstream'
import { type Made } from './load'
import { type Transfer } from './paying-chain'

const EXAMPLES = 3

/**
 * Compares the responses of callers and the upstream in one round with the gateway's database. `away` lists
 * the error codes that are allowed while a dependency is unavailable.
 */
export async function auditCalls(parts: {
  round: number
  made: readonly Made[]
  ledger: LedgerQueries
  upstream: CountingUpstream
  away?: readonly string[]
}) {
  const { round, made, ledger, upstream, away = [] } = parts
  const problems: string[] = []
  const prefix = `${round}/`
  const all = await ledger.usage(resourceOf(prefix))
  const rows = new Map<string, UsageRow[]>()
  for (const row of all) rows.set(row.resource, [...(rows.get(row.resource) ?? []), row])
  const rowOf = ({ id }: Made): UsageRow | undefined => rows.get(resourceOf(id))?.[0]
  const atUpstream = [...upstream.asked].filter(([id]) => id.startsWith(prefix))

  const mustNotBe = <T>(what: string, found: T[], nameOf: (item: T) => string) => {
    if (found.length > 0)
      problems.push(`${found.length} × ${what}: ${found.slice(0, EXAMPLES).map(nameOf).join(', ')}`)
  }
  const calls = (what: string, found: Made[]) =>
    mustNotBe(
      what,
      found,
      (call) => `${call.id} (${rowOf(call)?.state ?? 'no row'} ${rowOf(call)?.outcome ?? ''})`,
    )

  const served = made.filter(({ status }) => status === 200)
  const failed = made.filter(({ status, code }) => status === 500 && code === 'UPSTREAM_FAILED')
  const unpaid = made.filter(({ status }) => status === 402)
  const pending = made.filter(({ status, code }) => status === 503 && code === 'PAYMENT_PENDING')
  const cut = made.filter(({ status }) => status === undefined)
  const rejected = made.filter(({ code }) => code !== undefined && away.includes(code))
  const known = new Set([...served, ...failed, ...unpaid, ...pending, ...cut, ...rejected])
  const isTakenBack = (call: Made) => rowOf(call)?.outcome === 'replica_died'

  mustNotBe(
    'an answer that is not documented',
    made.filter((call) => !known.has(call)),
    ({ id, status, code }) => `${id} (${status ?? '?'} ${code ?? ''})`,
  )
  calls(
    'an answered call without its usage row',
    served.filter((call) => !rowOf(call)),
  )
  calls(
    'an answered call that is neither done nor taken back from a dead replica',
    served.filter((call) => rowOf(call) && rowOf(call)?.state !== 'done' && !isTakenBack(call)),
  )
  calls(
    'a call that no upstream answered and that was not refunded',
    failed.filter((call) => rowOf(call)?.state !== 'refunded'),
  )
  calls(
    'a call that was refused and charged',
    [...unpaid, ...pending].filter((call) => rowOf(call)),
  )
  calls(
    'a call that could not be served and was charged',
    rejected.filter((call) => rowOf(call) && rowOf(call)?.state !== 'refunded'),
  )
  const ids = new Set(made.map(({ id }) => resourceOf(id)))
  mustNotBe(
    'a usage row of no call',
    [...rows.keys()].filter((resource) => !ids.has(resource)),
    String,
  )
  mustNotBe(
    'a call with two usage rows',
    [...rows].filter(([, { length }]) => length > 1),
    ([resource]) => resource,
  )
  mustNotBe(
    'a call forwarded unpaid',
    atUpstream.filter(([id]) => !rows.has(resourceOf(id))),
    ([id]) => id,
  )
  mustNotBe(
    'a call forwarded twice',
    atUpstream.filter(([, times]) => times > 1),
    ([id]) => id,
  )

  const counts = {
    served: served.length,
    failed: failed.length,
    unpaid: unpaid.length,
    pending: pending.length,
    cut: cut.length,
    rejected: rejected.length,
    done: all.filter(({ state }) => state === 'done').length,
    refunded: all.filter(({ state }) => state === 'refunded').length,
    /**
     * Answered just before the kill, before `done` was stored: the caller has the answer, and its credit was
     * refunded.
     */
    servedFree: served.filter(isTakenBack).length,
    /** The upstream answered, but the kill preceded the caller's response: the credit was refunded. */
    cutFree: cut.filter((call) => upstream.answered.has(call.id) && isTakenBack(call)).length,
  }
  return { problems, counts }
}

/**
 * After all rounds: balances are correct, no payment is open, and the chain has exactly the credited
 * payments.
 */
export async function auditMoney(ledger: LedgerQueries, transfers: readonly Transfer[]) {
  const problems = await ledger.broken()
  const payments = await ledger.payments()
  const keyOf = (payment: { payer: string; nonce: string }) =>
    `${payment.payer} ${payment.nonce}`.toLowerCase()
  const credited = payments.filter(({ status }) => status === 'credited')
  const onChain = new Map(transfers.map((transfer) => [transfer.id, transfer]))

  const open = payments.filter(({ status }) => status !== 'credited' && status !== 'failed')
  if (open.length > 0) problems.push(`${open.length} × a payment that has not ended`)
  const failed = payments.filter(({ status }) => status === 'failed')
  if (failed.length > 0) problems.push(`${failed.length} × a payment refused although it was good`)
  const unmoved = credited.filter(
    (payment) => onChain.get(keyOf(payment))?.transaction !== payment.transaction,
  )
  if (unmoved.length > 0) problems.push(`${unmoved.length} × a payment credited that the chain does not show`)
  const keys = new Set(credited.map(keyOf))
  const lost = transfers.filter(({ id }) => !keys.has(id))
  if (lost.length > 0) problems.push(`${lost.length} × a payment taken on the chain and not credited`)
  if (onChain.size !== transfers.length) problems.push('a payment with more than one transfer')
  return { problems, credited: credited.length, transfers: transfers.length }
}
