-- Waits for a deletion of the account that has not committed, and adds no endpoint to a deleted one.
CREATE FUNCTION "skip_webhook_of_deleted_user"() RETURNS TRIGGER LANGUAGE plpgsql AS $$
DECLARE
  deleted TIMESTAMPTZ;
BEGIN
  SELECT deleted_at INTO deleted FROM users WHERE id = substring(NEW.owner FROM '^[0-9]{1,9}$')::int FOR KEY SHARE;
  RETURN CASE WHEN deleted IS NULL THEN NEW END;
END
$$;
CREATE TRIGGER "webhook_endpoints_owner" BEFORE INSERT ON "webhook_endpoints" FOR EACH ROW
  EXECUTE FUNCTION "skip_webhook_of_deleted_user"();
