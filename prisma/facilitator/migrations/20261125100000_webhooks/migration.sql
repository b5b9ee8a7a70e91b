-- Endpoints of users, to which events are sent. `owner` is the id of a user.
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

-- A settlement as GET /api/v1/settlements shows it: the `data` of its events.
CREATE FUNCTION "settlement_json"("one" "settlements") RETURNS JSON LANGUAGE SQL STABLE AS $$
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
    'createdAt', iso_time(("one").created_at),
    'updatedAt', iso_time(("one").updated_at),
    'settledAt', iso_time(("one").settled_at),
    'endedAt', iso_time(("one").ended_at)
  ) FROM assets AS token WHERE token.network = ("one").network AND token.asset = ("one").asset
$$;

-- One event for each change of state, in the commit of the change. A reported success can pass to another key: its user gets the
-- event too.
CREATE FUNCTION "emit_settlement_webhook"() RETURNS TRIGGER LANGUAGE plpgsql AS $$
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
  PERFORM emit_webhook(holder::text,
    'settlement.' || CASE WHEN NEW.status IN ('settled', 'failed') THEN NEW.status ELSE 'reversed' END,
    NEW.id::text, settlement_json(NEW));
  RETURN NULL;
END
$$;

-- The last condition is a reversal that became final.
CREATE TRIGGER "settlements_webhook" AFTER UPDATE OF "status", "client_id", "error_reason" ON "settlements" FOR EACH ROW
  WHEN (
    (OLD.status <> NEW.status AND (NEW.status IN ('settled', 'failed', 'reversed') OR OLD.status = 'settled'))
    OR (NEW.status = 'settled' AND OLD.client_id <> NEW.client_id)
    OR (OLD.status = 'reversed' AND NEW.status = 'reversed' AND OLD.error_reason IS NULL AND NEW.error_reason IS NOT NULL)
  )
  EXECUTE FUNCTION "emit_settlement_webhook"();
