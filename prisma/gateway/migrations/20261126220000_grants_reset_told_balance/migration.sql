-- Bought credits end what `credits.low` has told. A trigger, because the version before grants credits on this schema, too.
CREATE FUNCTION "reset_told_balance"() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
  UPDATE accounts SET told_balance = NULL WHERE id = NEW.account_id AND told_balance IS NOT NULL;
  RETURN NULL;
END
$$;
CREATE TRIGGER "grants_told_balance" AFTER INSERT ON "grants" FOR EACH ROW EXECUTE FUNCTION "reset_told_balance"();
