-- A settlement as GET /api/v1/settlements shows it, without its `detail`. `final` is of a reversal: whether it is settled no more; null in other
-- events. Releases before this one call it without `final`.
DROP FUNCTION "settlement_json"("settlements");
CREATE FUNCTION "settlement_json"("one" "settlements", "final" BOOLEAN DEFAULT NULL) RETURNS JSON LANGUAGE SQL STABLE AS $$
  SELECT json_build_object(
    'id', ("one").id::text,
    'network', ("one").network,
    'asset', ("one").asset,
    'symbol', token.symbol,
    'decimals', token.decimals,
    'amount', ("one").amount::text,
    'payer', ("one").payer,
    'recipient', ("one").pay_to,
    'resource', ("one").resource,
    'paymentIdentifier', ("one").payment_identifier,
    'clientId', ("one").client_id,
    'state', CASE WHEN ("one").status IN ('claimed', 'signed') THEN 'pending' ELSE ("one").status END,
    'reason', ("one").error_reason,
    'transaction', ("one").transaction_hash,
    'block', ("one").block_number,
    'fee', ("one").fee::text,
    'createdAt', iso_time(coalesce(("one").first_claimed_at, ("one").created_at)),
    'updatedAt', iso_time(("one").updated_at),
    'settledAt', iso_time(("one").settled_at),
    'endedAt', iso_time(CASE
      WHEN ("one").status <> 'reversed' THEN ("one").ended_at
      WHEN ("one").error_reason IS NOT NULL THEN ("one").updated_at
    END),
    'nonce', ("one").nonce,
    'final', "final"
  ) FROM assets AS token WHERE token.network = ("one").network AND token.asset = ("one").asset
$$;

-- As before, with `final` in reversals.
CREATE OR REPLACE FUNCTION "emit_settlement_webhook"() RETURNS TRIGGER LANGUAGE plpgsql AS $$
DECLARE
  -- Null also if no endpoint takes events.
  holder INTEGER := (
    SELECT user_id FROM clients JOIN users ON users.id = user_id AND disabled_at IS NULL
    WHERE client_id = NEW.client_id AND has_webhooks(user_id::text));
BEGIN
  IF holder IS NULL THEN
    RETURN NULL;
  END IF;
  IF NEW.status = OLD.status AND NEW.status = 'settled' AND holder = (SELECT user_id FROM clients WHERE client_id = OLD.client_id) THEN
    RETURN NULL;
  END IF;
  IF NEW.status IN ('settled', 'failed') THEN
    PERFORM emit_webhook(holder::text, 'settlement.' || NEW.status, NEW.id::text, settlement_json(NEW));
  ELSE
    PERFORM emit_webhook(holder::text, 'settlement.reversed', NEW.id::text,
      settlement_json(NEW, NEW.status = 'reversed' AND NEW.error_reason IS NOT NULL));
  END IF;
  RETURN NULL;
END
$$;
