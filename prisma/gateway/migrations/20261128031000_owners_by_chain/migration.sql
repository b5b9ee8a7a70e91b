-- A contract proves its address on one chain. Its endpoints have the owner `address@ecosystem:chain`, those of a key the address.
-- An endpoint of either takes the events of a plan of that chain.
CREATE FUNCTION "webhook_owners"("of" TEXT, "plan" INT) RETURNS TEXT[] LANGUAGE SQL STABLE AS $$
  SELECT ARRAY["of", "of" || '@' || ecosystem || ':' || chain_id] FROM pricing_plans WHERE id = "plan"
$$;

-- The same functions as those of one owner, which the release before calls.
CREATE FUNCTION "has_webhooks"("owners" TEXT[]) RETURNS BOOLEAN LANGUAGE SQL STABLE AS $$
  SELECT EXISTS (SELECT FROM webhook_endpoints WHERE owner = ANY ("owners") AND active AND deleted_at IS NULL)
$$;

CREATE FUNCTION "emit_webhook"("owners" TEXT[], "kind" TEXT, "about" TEXT, "content" JSON, "limit" BIGINT DEFAULT NULL, "once_for" TEXT DEFAULT NULL)
  RETURNS VOID LANGUAGE SQL AS $$
  WITH receiver AS MATERIALIZED (
    SELECT id FROM webhook_endpoints
    WHERE owner = ANY ("owners") AND active AND deleted_at IS NULL AND (events = '{}' OR "kind" = ANY (events))
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

CREATE OR REPLACE FUNCTION "emit_payment_webhook"() RETURNS TRIGGER LANGUAGE plpgsql AS $$
DECLARE
  owners TEXT[] := webhook_owners(NEW.wallet, NEW.pricing_plan_id);
BEGIN
  IF has_webhooks(owners) THEN
    PERFORM emit_webhook(owners,
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

CREATE OR REPLACE FUNCTION "emit_low_balance_webhook"() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
  PERFORM emit_webhook(webhook_owners(NEW.wallet, NEW.pricing_plan_id), 'credits.low', 'plan ' || NEW.pricing_plan_id,
    json_build_object('pricing_plan_id', NEW.pricing_plan_id, 'remaining_credits', NEW.balance, 'balance_below', low), low)
  FROM unnest(NEW.low_balances) AS low WHERE NEW.balance < low AND least(OLD.balance, NEW.told_balance) >= low;
  UPDATE accounts SET told_balance = NEW.balance WHERE id = NEW.id;
  RETURN NULL;
END
$$;

CREATE FUNCTION "low_balances_of"("owners" TEXT[]) RETURNS BIGINT[] LANGUAGE SQL STABLE AS $$
  SELECT array_agg(DISTINCT threshold ORDER BY threshold) FROM webhook_endpoints
  WHERE owner = ANY ("owners") AND threshold IS NOT NULL AND active AND deleted_at IS NULL AND (events = '{}' OR 'credits.low' = ANY (events))
$$;

-- New limits have told nothing.
CREATE OR REPLACE FUNCTION "set_low_balances"() RETURNS TRIGGER LANGUAGE plpgsql AS $$
DECLARE
  of_wallet TEXT := split_part(NEW.owner, '@', 1);
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('webhooks ' || of_wallet, 0));
  UPDATE accounts SET low_balances = low_balances_of(webhook_owners(wallet, pricing_plan_id)), told_balance = NULL
  WHERE id = ANY (ARRAY(
    SELECT id FROM accounts WHERE wallet = of_wallet AND NEW.owner = ANY (webhook_owners(wallet, pricing_plan_id))
    ORDER BY id FOR NO KEY UPDATE));
  RETURN NULL;
END
$$;

CREATE OR REPLACE FUNCTION "take_low_balances"() RETURNS TRIGGER LANGUAGE plpgsql AS $$
DECLARE
  limits BIGINT[];
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('webhooks ' || NEW.wallet, 0));
  limits := low_balances_of(webhook_owners(NEW.wallet, NEW.pricing_plan_id));
  UPDATE accounts SET low_balances = limits WHERE id = NEW.id AND limits IS NOT NULL;
  RETURN NULL;
END
$$;

-- Endpoints of addresses that have signed in as contracts only, all on one chain. Others keep the address as their owner: who made
-- them is not known.
UPDATE webhook_endpoints SET owner = by_contract.wallet || '@' || by_contract.chain
FROM (
  SELECT wallet, min(ecosystem || ':' || chain_id) AS chain FROM sessions
  GROUP BY wallet HAVING bool_and(signed_by IS NOT DISTINCT FROM 'contract') AND count(DISTINCT ecosystem || ':' || chain_id) = 1
) AS by_contract
WHERE webhook_endpoints.owner = by_contract.wallet AND webhook_endpoints.deleted_at IS NULL;

UPDATE accounts SET low_balances = low_balances_of(webhook_owners(wallet, pricing_plan_id)) WHERE low_balances IS NOT NULL;

DROP FUNCTION "low_balances_of"(TEXT);
