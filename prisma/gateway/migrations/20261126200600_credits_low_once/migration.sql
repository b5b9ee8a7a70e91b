-- The lowest balance that `credits.low` has told since credits were bought; null if none. A reserved call that is given back raises the
-- balance, and the next one lowers it again: that is no new event.
ALTER TABLE "accounts" ADD COLUMN "told_balance" BIGINT;

CREATE OR REPLACE FUNCTION "emit_low_balance_webhook"() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
  PERFORM emit_webhook(NEW.wallet, 'credits.low', 'plan ' || NEW.pricing_plan_id,
    json_build_object('pricing_plan_id', NEW.pricing_plan_id, 'remaining_credits', NEW.balance, 'balance_below', low), low)
  FROM unnest(NEW.low_balances) AS low WHERE NEW.balance < low AND least(OLD.balance, NEW.told_balance) >= low;
  UPDATE accounts SET told_balance = NEW.balance WHERE id = NEW.id;
  RETURN NULL;
END
$$;

-- width_bucket counts the limits at or below a balance.
DROP TRIGGER "accounts_webhook" ON "accounts";
CREATE TRIGGER "accounts_webhook" AFTER UPDATE OF "balance" ON "accounts" FOR EACH ROW
  WHEN (width_bucket(NEW.balance, NEW.low_balances) < width_bucket(least(OLD.balance, NEW.told_balance), NEW.low_balances))
  EXECUTE FUNCTION "emit_low_balance_webhook"();

-- New limits have told nothing.
CREATE OR REPLACE FUNCTION "set_low_balances"() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('webhooks ' || NEW.owner, 0));
  UPDATE accounts SET low_balances = low_balances_of(NEW.owner), told_balance = NULL
  WHERE id = ANY (ARRAY(SELECT id FROM accounts WHERE wallet = NEW.owner ORDER BY id FOR NO KEY UPDATE));
  RETURN NULL;
END
$$;
