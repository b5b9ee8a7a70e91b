-- When a delivery of the endpoint was last claimed: owners that were served long ago come first.
ALTER TABLE "webhook_endpoints" ADD COLUMN "served_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP;

-- Whether nothing is sent to the owner for now. Owners that are not users are unknown.
CREATE FUNCTION "is_webhook_owner_disabled"("of" TEXT) RETURNS BOOLEAN LANGUAGE SQL STABLE AS $$
  SELECT EXISTS (SELECT FROM users WHERE id = substring("of" FROM '^[0-9]{1,9}$')::int AND disabled_at IS NOT NULL)
$$;
