import { CLAIMED_CHANNEL } from '../settlement/channels'
import { isForbiddenSql, isOwnRecipientSql } from './payment-access'
import { STALL_LIMIT_SECONDS } from '../settlement/short-transaction'

export const columns = `id, network, payer, status, client_id AS "clientId", request_hash AS "requestHash",
  idempotency_key AS "idempotencyKey", request_id AS "requestId", traceparent, transaction_hash AS "transactionHash",
  block_number AS "blockNumber", arrived, error_reason AS "errorReason", error_detail AS "errorDetail", settled_at AS "settledAt",
  ended_at AS "endedAt", success_reported_at AS "successReportedAt"`

const keyedColumns = `${columns}, asset, nonce`

const samePayment = 'network = $1 AND asset = $2 AND payer = $3 AND nonce = $4'
const notifyClaimed = `pg_notify('${CLAIMED_CHANNEL}', network)`

const isOwnNew = isOwnRecipientSql({ network: 'new.network', payTo: 'new.pay_to', clientId: 'new.client_id' })

/** A transfer pays once, and a payment is claimed once. In the order of their keys: replicas that insert the same payments must not wait for each other. */
export const INSERT_CLAIMS = `
WITH claimed AS (
  INSERT INTO settlements (network, asset, payer, nonce, pay_to, amount, client_id, request_hash, idempotency_key, payload,
    request_id, min_block, seen_block, unspent_at_block, resource, payment_identifier, traceparent, counts_arrived, arrived,
    transaction_hash, transfer)
  SELECT network, asset, payer, nonce, pay_to, amount, client_id, request_hash, idempotency_key, payload,
    request_id, min_block, seen_block, unspent_at_block, resource, payment_identifier, traceparent,
    is_own_recipient AND ${isOwnNew}, arrived_hash IS NOT NULL, arrived_hash, transfer
  FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::numeric[], $7::text[], $8::bytea[], $9::text[],
    $10::text[], $11::text[], $12::bigint[], $13::bigint[], $14::bigint[], $15::timestamptz[], $16::text[], $17::text[], $18::text[],
    $19::boolean[], $20::text[], $21::text[])
    AS new (network, asset, payer, nonce, pay_to, amount, client_id, request_hash, idempotency_key, payload, request_id,
    min_block, seen_block, unspent_at_block, until, resource, payment_identifier, traceparent, is_own_recipient, arrived_hash,
    transfer)
  WHERE clock_timestamp() <= until AND (arrived_hash IS NULL OR ${isOwnNew})
    AND NOT ${isForbiddenSql({ network: 'new.network', payer: 'new.payer', payTo: 'new.pay_to', clientId: 'new.client_id' })}
  ORDER BY network, asset, payer, nonce
  ON CONFLICT DO NOTHING
  RETURNING *)
SELECT ${keyedColumns}, ${notifyClaimed} FROM claimed`

export const FIND = `
SELECT ${keyedColumns} FROM settlements WHERE (network, asset, payer, nonce) IN (
  SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]))`

/**
 * Locks a failed settlement until the transaction ends, and waits for a resolution or a reversal that changes it. Skips a
 * settlement that did not fail: a signing round may lock it for long.
 */
export const LOCK_FAILED = `
SELECT id, transaction_hash IS NOT NULL AS "wasSent", error_reason AS "errorReason"
FROM settlements WHERE ${samePayment} AND status = 'failed' FOR UPDATE`

/**
 * Only for payments that are transactions of their payers, whole or signed by us too: each but a fee grant used the payer's nonce.
 * Requires the lock on the settlement: a resolution stores the allocations under it.
 */
export const FIND_MINED_PAYER_TRANSACTION = `
SELECT FROM fee_allocations a JOIN transactions t ON t.id = a.transaction_id
WHERE a.settlement_id = $1 AND NOT t.is_fee_grant LIMIT 1`

const isOwn = isOwnRecipientSql({ network: 'settlements.network', payTo: '$2', clientId: '$4' })

/** Not in the last seconds of the window: a replica that stalls before its commit rolls back by the end of the window. */
export const RECLAIM = `
UPDATE settlements
SET pay_to = $2, amount = $3, client_id = $4, request_hash = $5, idempotency_key = $6, payload = $7, request_id = $8,
  min_block = greatest(min_block, $9),
  seen_block = CASE WHEN $20 THEN seen_block ELSE $10 END,
  unspent_at_block = CASE WHEN $20 THEN unspent_at_block ELSE $11 END,
  settled_at = CASE WHEN $20 THEN settled_at END,
  resource = $13, payment_identifier = $14, traceparent = $15,
  counts_arrived = $16::boolean AND ${isOwn}, arrived = arrived OR $17::text IS NOT NULL,
  transaction_hash = CASE WHEN $19 = 'unused' THEN NULL ELSE coalesce($17::text, transaction_hash) END, transfer = $18::text,
  status = 'claimed', error_reason = NULL, error_detail = NULL, transaction_id = NULL,
  first_claimed_at = coalesce(first_claimed_at, created_at), created_at = now(), updated_at = now()
WHERE id = $1 AND status = 'failed' AND clock_timestamp() <= $12::timestamptz - INTERVAL '${STALL_LIMIT_SECONDS} seconds'
  AND NOT ${isForbiddenSql({ network: 'settlements.network', payer: 'settlements.payer', payTo: '$2', clientId: '$4' })}
  AND ($17::text IS NULL OR ${isOwn})
  AND NOT EXISTS (SELECT FROM settlements o WHERE o.network = settlements.network AND o.transaction_hash = $17::text
    AND o.asset = settlements.asset AND o.payer = settlements.payer AND o.transfer = $18::text AND o.status <> 'failed')
RETURNING ${columns}, ${notifyClaimed}`

/** The first report assigns the settlement to its requester. Locks rows in the order of their ids, as every statement does. */
export const REPORT_SUCCESSES = `
UPDATE settlements s
SET idempotency_key = CASE WHEN success_reported_at IS NULL THEN report.idempotency_key ELSE s.idempotency_key END,
  client_id = CASE WHEN success_reported_at IS NULL THEN report.client_id ELSE s.client_id END,
  success_reported_at = coalesce(success_reported_at, now()), updated_at = now()
FROM unnest($1::bigint[], $2::text[], $3::text[]) AS report (id, idempotency_key, client_id),
  (SELECT id FROM settlements WHERE id = ANY($1) ORDER BY id FOR UPDATE) AS locked
WHERE s.id = report.id AND s.id = locked.id AND status = 'settled'
  AND (success_reported_at IS NULL OR s.idempotency_key = report.idempotency_key)
RETURNING s.id`
