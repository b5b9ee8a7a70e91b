-- When a delivery of the endpoint was last claimed: owners that were served long ago come first.
ALTER TABLE "webhook_endpoints" ADD COLUMN "served_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP;

-- Whether nothing is sent to the owner for now. Wallets cannot be disabled.
CREATE FUNCTION "is_webhook_owner_disabled"("of" TEXT) RETURNS BOOLEAN LANGUAGE SQL IMMUTABLE AS $$
  SELECT false
$$;
