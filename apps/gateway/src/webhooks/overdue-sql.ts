/**
 * Writes `payment.pending` for each payment that is open for more than a minute, once for each time that it was opened, in the order of
 * its other events: each is written under the lock of its row. Not for payments of more than a week ago, whose event may have been
 * deleted since.
 */
export const EMIT_OVERDUE = `
WITH overdue AS MATERIALIZED (
  SELECT payments AS one, id, owners, round FROM payments, webhook_owners(wallet, pricing_plan_id) AS owners
  WHERE status IN ('received', 'settling') AND created_at BETWEEN now() - interval '7 days' AND now() - interval '1 minute'
    AND has_webhooks(owners)
    AND NOT EXISTS (
      SELECT FROM webhook_events AS event
      WHERE event.subject = payments.id::text AND event.type = 'payment.pending' AND event.once = payments.round::text)
  ORDER BY id LIMIT 500 FOR NO KEY UPDATE OF payments SKIP LOCKED
)
SELECT emit_webhook(owners, 'payment.pending', id::text, payment_json(one), NULL, round::text) FROM overdue`
