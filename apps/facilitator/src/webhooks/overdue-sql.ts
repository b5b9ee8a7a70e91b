/**
 * Writes `settlement.pending` for each claim that is open for more than a minute, once, in the order of the settlement's other events:
 * each is written under the lock of its row. Not for claims of more than a week ago, whose event may have been deleted since.
 */
export const EMIT_OVERDUE = `
WITH overdue AS MATERIALIZED (
  SELECT settlements AS one, settlements.id, settlements.created_at, clients.user_id::text AS owner
  FROM settlements JOIN clients ON clients.client_id = settlements.client_id
    JOIN users ON users.id = clients.user_id AND users.disabled_at IS NULL
  WHERE settlements.status IN ('claimed', 'signed')
    AND settlements.created_at BETWEEN now() - interval '7 days' AND now() - interval '1 minute'
    AND has_webhooks(clients.user_id::text)
    AND NOT EXISTS (
      SELECT FROM webhook_events AS event
      WHERE event.subject = settlements.id::text AND event.type = 'settlement.pending' AND event.once = settlements.created_at::text)
  ORDER BY settlements.id LIMIT 500 FOR NO KEY UPDATE OF settlements SKIP LOCKED
)
SELECT emit_webhook(owner, 'settlement.pending', id::text, settlement_json(one), NULL, created_at::text) FROM overdue`
