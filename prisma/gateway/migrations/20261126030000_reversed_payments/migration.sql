-- When the gateway learned that a reorg had reversed the payment for good. Its status stays: the credits are not taken back.
ALTER TABLE "payments" ADD COLUMN "reversed_at" TIMESTAMPTZ(3);

-- A payment as GET /payments/:wallet shows it: the `data` of its events.
CREATE OR REPLACE FUNCTION "payment_json"("one" "payments") RETURNS JSON LANGUAGE SQL STABLE AS $$
  SELECT json_build_object(
    'id', ("one").id,
    'pricing_plan_id', ("one").pricing_plan_id,
    'network', ("one").network,
    'chain_id', ("one").chain_id,
    'asset', ("one").asset,
    'amount', ("one").amount::text,
    'payer', ("one").payer,
    'pay_to', ("one").pay_to,
    'credits', ("one").credits,
    'status', ("one").status,
    'transaction', ("one").transaction,
    'block_number', ("one").block_number,
    'created_at', iso_time(("one").created_at),
    'settled_at', iso_time(("one").settled_at),
    'reversed_at', iso_time(("one").reversed_at)
  )
$$;

-- A reversed payment that is settled after all is `payment.settled` again.
CREATE OR REPLACE FUNCTION "emit_payment_webhook"() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
  IF has_webhooks(NEW.wallet) THEN
    PERFORM emit_webhook(NEW.wallet,
      CASE
        WHEN OLD.reversed_at IS NULL AND NEW.reversed_at IS NOT NULL THEN 'payment.reversed'
        WHEN OLD.reversed_at IS NOT NULL AND NEW.reversed_at IS NULL THEN 'payment.settled'
        WHEN NEW.status = 'credited' THEN 'credits.bought'
        WHEN NEW.status = 'settled' THEN 'payment.settled'
        ELSE 'payment.failed'
      END,
      NEW.id::text, payment_json(NEW));
  END IF;
  RETURN NULL;
END
$$;
DROP TRIGGER "payments_webhook" ON "payments";
CREATE TRIGGER "payments_webhook" AFTER UPDATE OF "status", "reversed_at" ON "payments" FOR EACH ROW
  WHEN (
    (OLD.status <> NEW.status AND NEW.status IN ('settled', 'credited', 'failed', 'disputed'))
    OR (OLD.reversed_at IS NULL) <> (NEW.reversed_at IS NULL)
  )
  EXECUTE FUNCTION "emit_payment_webhook"();
