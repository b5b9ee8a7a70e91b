-- Endpoints of owners that never paid share a few attempts, and slow ones come behind quick ones. `is_slow` is null before the first attempt.
ALTER TABLE "webhook_endpoints" ADD COLUMN "has_paid" BOOLEAN NOT NULL DEFAULT false, ADD COLUMN "is_slow" BOOLEAN;

-- Whether the owner is known to have paid: here, whether a payment of the wallet was settled.
CREATE FUNCTION "has_webhook_owner_paid"("of" TEXT) RETURNS BOOLEAN LANGUAGE SQL STABLE AS $$
  SELECT EXISTS (SELECT FROM payments WHERE wallet = split_part("of", '@', 1) AND status IN ('settled', 'credited'))
$$;

UPDATE "webhook_endpoints" SET "has_paid" = has_webhook_owner_paid("owner"), "is_slow" = CASE WHEN "failures" = 0 THEN false END
WHERE "deleted_at" IS NULL;
