-- Endpoints of users, to which events are sent. `owner` is a wallet.
CREATE TABLE "webhook_endpoints" (
    "id" UUID NOT NULL,
    "owner" TEXT NOT NULL,
    "url" TEXT NOT NULL,
    "description" TEXT NOT NULL,
    "events" TEXT[],
    "threshold" BIGINT,
    "active" BOOLEAN NOT NULL DEFAULT true,
    "secret" TEXT NOT NULL,
    "previous_secret" TEXT,
    "secret_rotated_at" TIMESTAMPTZ(3),
    "failures" INTEGER NOT NULL DEFAULT 0,
    "failing_since" TIMESTAMPTZ(3),
    "retry_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "deleted_at" TIMESTAMPTZ(3),

    CONSTRAINT "webhook_endpoints_pkey" PRIMARY KEY ("id")
);
CREATE INDEX "webhook_endpoints_owner_created_at_idx" ON "webhook_endpoints"("owner", "created_at");

-- The outbox. `data` is the body's member as text, so that each attempt sends and signs the same bytes.
CREATE TABLE "webhook_events" (
    "id" BIGSERIAL NOT NULL,
    "message_id" TEXT NOT NULL,
    "type" TEXT NOT NULL,
    "subject" TEXT NOT NULL,
    "once" TEXT,
    "data" JSON NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "webhook_events_pkey" PRIMARY KEY ("id")
);
CREATE INDEX "webhook_events_created_at_idx" ON "webhook_events"("created_at");
-- An event that must exist once for its subject.
CREATE UNIQUE INDEX "webhook_events_once_key" ON "webhook_events"("subject", "type", "once") WHERE "once" IS NOT NULL;

CREATE TABLE "webhook_deliveries" (
    "id" BIGSERIAL NOT NULL,
    "event_id" BIGINT NOT NULL,
    "endpoint_id" UUID NOT NULL,
    "subject" TEXT NOT NULL,
    "state" TEXT NOT NULL DEFAULT 'pending',
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "started_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "next_attempt_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "leased_until" TIMESTAMPTZ(3),
    "ended_at" TIMESTAMPTZ(3),
    "last_status" INTEGER,
    "last_error" TEXT,

    CONSTRAINT "webhook_deliveries_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "webhook_deliveries_state_check" CHECK ("state" IN ('pending', 'delivered', 'failed'))
);
CREATE INDEX "webhook_deliveries_event_id_idx" ON "webhook_deliveries"("event_id");
CREATE INDEX "webhook_deliveries_endpoint_id_id_idx" ON "webhook_deliveries"("endpoint_id", "id");
CREATE INDEX "webhook_deliveries_due_idx" ON "webhook_deliveries"("endpoint_id", "next_attempt_at", "id") WHERE "state" = 'pending';
CREATE INDEX "webhook_deliveries_order_idx" ON "webhook_deliveries"("endpoint_id", "subject", "id") WHERE "state" = 'pending';
CREATE INDEX "webhook_deliveries_ended_idx" ON "webhook_deliveries"("ended_at") WHERE "state" <> 'pending';
ALTER TABLE "webhook_deliveries" ADD CONSTRAINT "webhook_deliveries_event_id_fkey" FOREIGN KEY ("event_id") REFERENCES "webhook_events"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
ALTER TABLE "webhook_deliveries" ADD CONSTRAINT "webhook_deliveries_endpoint_id_fkey" FOREIGN KEY ("endpoint_id") REFERENCES "webhook_endpoints"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

CREATE TABLE "webhook_attempts" (
    "id" BIGSERIAL NOT NULL,
    "delivery_id" BIGINT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,
    "duration_ms" INTEGER NOT NULL,
    "status" INTEGER,
    "error" TEXT,

    CONSTRAINT "webhook_attempts_pkey" PRIMARY KEY ("id")
);
CREATE INDEX "webhook_attempts_delivery_id_id_idx" ON "webhook_attempts"("delivery_id", "id");
ALTER TABLE "webhook_attempts" ADD CONSTRAINT "webhook_attempts_delivery_id_fkey" FOREIGN KEY ("delivery_id") REFERENCES "webhook_deliveries"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- Whether any endpoint of the owner takes events: asked before an event is composed.
CREATE FUNCTION "has_webhooks"("of" TEXT) RETURNS BOOLEAN LANGUAGE SQL STABLE AS $$
  SELECT EXISTS (SELECT FROM webhook_endpoints WHERE owner = "of" AND active AND deleted_at IS NULL)
$$;

-- Writes an event, and a delivery for each endpoint of the owner that takes its type; nothing if there is none. With "limit": only
-- for endpoints with this threshold. With "once": only if the subject has no such event.
CREATE FUNCTION "emit_webhook"("of" TEXT, "kind" TEXT, "about" TEXT, "content" JSON, "limit" BIGINT DEFAULT NULL, "once_for" TEXT DEFAULT NULL)
  RETURNS VOID LANGUAGE SQL AS $$
  WITH receiver AS MATERIALIZED (
    SELECT id FROM webhook_endpoints
    WHERE owner = "of" AND active AND deleted_at IS NULL AND (events = '{}' OR "kind" = ANY (events))
      AND ("limit" IS NULL OR threshold = "limit")
  ), event AS (
    INSERT INTO webhook_events (message_id, type, subject, once, data)
    SELECT 'msg_' || replace(gen_random_uuid()::text, '-', ''), "kind", "about", "once_for", "content"
    WHERE EXISTS (SELECT FROM receiver)
    ON CONFLICT DO NOTHING
    RETURNING id
  )
  INSERT INTO webhook_deliveries (event_id, endpoint_id, subject)
  SELECT event.id, receiver.id, "about" FROM event, receiver
$$;

CREATE FUNCTION "iso_time"("at" TIMESTAMPTZ) RETURNS TEXT LANGUAGE SQL STABLE
  RETURN to_char("at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"');

-- A payment as GET /payments/:wallet shows it: the `data` of its events.
CREATE FUNCTION "payment_json"("one" "payments") RETURNS JSON LANGUAGE SQL STABLE AS $$
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
    'settled_at', iso_time(("one").settled_at)
  )
$$;

CREATE FUNCTION "emit_payment_webhook"() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
  IF has_webhooks(NEW.wallet) THEN
    PERFORM emit_webhook(NEW.wallet,
      CASE
        WHEN NEW.status = 'credited' THEN 'credits.bought'
        WHEN NEW.status = 'settled' THEN 'payment.settled'
        WHEN OLD.status IN ('settled', 'credited') THEN 'payment.reversed'
        ELSE 'payment.failed'
      END,
      NEW.id::text, payment_json(NEW));
  END IF;
  RETURN NULL;
END
$$;
CREATE TRIGGER "payments_webhook" AFTER UPDATE OF "status" ON "payments" FOR EACH ROW
  WHEN (OLD.status <> NEW.status AND (NEW.status IN ('settled', 'credited', 'failed', 'disputed') OR OLD.status IN ('settled', 'credited')))
  EXECUTE FUNCTION "emit_payment_webhook"();

-- The balances below which an endpoint of the wallet gets `credits.low`, ascending. Null for most accounts: their spends then call no
-- function.
ALTER TABLE "accounts" ADD COLUMN "low_balances" BIGINT[];

CREATE FUNCTION "low_balances_of"("of" TEXT) RETURNS BIGINT[] LANGUAGE SQL STABLE AS $$
  SELECT array_agg(DISTINCT threshold ORDER BY threshold) FROM webhook_endpoints
  WHERE owner = "of" AND threshold IS NOT NULL AND active AND deleted_at IS NULL AND (events = '{}' OR 'credits.low' = ANY (events))
$$;

CREATE FUNCTION "emit_low_balance_webhook"() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
  PERFORM emit_webhook(NEW.wallet, 'credits.low', 'plan ' || NEW.pricing_plan_id,
    json_build_object('pricing_plan_id', NEW.pricing_plan_id, 'remaining_credits', NEW.balance, 'balance_below', low), low)
  FROM unnest(NEW.low_balances) AS low WHERE NEW.balance < low AND OLD.balance >= low;
  RETURN NULL;
END
$$;
-- width_bucket counts the limits at or below a balance.
CREATE TRIGGER "accounts_webhook" AFTER UPDATE OF "balance" ON "accounts" FOR EACH ROW
  WHEN (width_bucket(NEW.balance, NEW.low_balances) < width_bucket(OLD.balance, NEW.low_balances))
  EXECUTE FUNCTION "emit_low_balance_webhook"();

-- Keeps the limits of accounts like those of the endpoints. The lock orders a new account and a change of the endpoints.
CREATE FUNCTION "set_low_balances"() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('webhooks ' || NEW.owner, 0));
  UPDATE accounts SET low_balances = low_balances_of(NEW.owner)
  WHERE id = ANY (ARRAY(SELECT id FROM accounts WHERE wallet = NEW.owner ORDER BY id FOR NO KEY UPDATE));
  RETURN NULL;
END
$$;
CREATE TRIGGER "webhook_endpoints_low_balances_insert" AFTER INSERT ON "webhook_endpoints" FOR EACH ROW
  WHEN (NEW.threshold IS NOT NULL) EXECUTE FUNCTION "set_low_balances"();
CREATE TRIGGER "webhook_endpoints_low_balances_update" AFTER UPDATE OF "threshold", "events", "active", "deleted_at" ON "webhook_endpoints"
  FOR EACH ROW WHEN (OLD.threshold IS NOT NULL OR NEW.threshold IS NOT NULL) EXECUTE FUNCTION "set_low_balances"();

CREATE FUNCTION "take_low_balances"() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('webhooks ' || NEW.wallet, 0));
  UPDATE accounts SET low_balances = low_balances_of(NEW.wallet) WHERE id = NEW.id AND low_balances_of(NEW.wallet) IS NOT NULL;
  RETURN NULL;
END
$$;
CREATE TRIGGER "accounts_low_balances" AFTER INSERT ON "accounts" FOR EACH ROW EXECUTE FUNCTION "take_low_balances"();
