import { isOpenSql } from '../payments/state'

/**
 * The statements of the retention job: $1 rows at most, $2 days that they are kept. Each is whole in itself and may be run by
 * any number of replicas at once. Time is the database's; days are UTC.
 */

export type StepRow = { rows: number }

const isOld = (column: string) => `${column} < now() - make_interval(days => $2)`
const countOf = (handled: string) => `select count(*)::int as rows from ${handled}`

const isUnderWay = "t.status in ('signed', 'mined')"

/**
 * What the payer signed, of settlements that have ended and whose transactions no reorg can drop any more. The row stays, and
 * with it the authorization that it used up, its result and its request's hash: no payment is settled again for want of it.
 */
export const DROP_PAYLOADS = `
with old as materialized (
  select s.id from settlements s
  where ${isOld('s.ended_at')} and s.payload <> '{}' and not ${isOpenSql('s')}
    and not exists (select from transactions t where t.id = s.transaction_id and ${isUnderWay})
    and not exists (
      select from charges c join transactions t on t.id = c.transaction_id where c.settlement_id = s.id and ${isUnderWay})
  order by s.ended_at limit $1 for update skip locked
), emptied as (
  update settlements set payload = '{}' where id in (select id from old) returning id
)
${countOf('emptied')}`

export const DELETE_REFRESH_TOKENS = `
with deleted as (
  delete from refresh_tokens where hash in (
    select hash from refresh_tokens where ${isOld('expires_at')} order by expires_at limit $1 for update skip locked)
  returning hash
)
${countOf('deleted')}`

export const DELETE_INVITATIONS = `
with deleted as (
  delete from invitations where hash in (
    select hash from invitations where ${isOld('expires_at')} order by expires_at limit $1 for update skip locked)
  returning hash
)
${countOf('deleted')}`

const deleteDays = (table: string, key: string) => `
with deleted as (
  delete from ${table} where (${key}) in (
    select ${key} from ${table} where day < (now() at time zone 'UTC')::date - $2::int
    order by day limit $1 for update skip locked)
  returning 1
)
${countOf('deleted')}`

export const DELETE_HTTP_METRICS = deleteDays('http_metrics', 'user_id, day, method, route, status')
export const DELETE_CLIENT_METRICS = deleteDays('client_metrics', 'user_id, day, client_id')
export const DELETE_REFUSALS = deleteDays('settlement_refusals', 'client_id, day, network, reason')

/** Keys that are deleted or expired, and that no settlement and no transaction names. */
export const DELETE_CLIENTS = `
with deleted as (
  delete from clients where client_id in (
    select client_id from clients c
    where (deleted_at is not null or expires_at is not null) and ${isOld('least(deleted_at, expires_at)')}
      and not exists (select from settlements where client_id = c.client_id)
      and not exists (select from fee_shares where client_id = c.client_id)
    order by least(deleted_at, expires_at) limit $1 for update skip locked)
  returning client_id
)
${countOf('deleted')}`
