-- What merchants find their settlements by, as the request names it; null in older rows.
ALTER TABLE "settlements" ADD COLUMN "resource" TEXT, ADD COLUMN "payment_identifier" TEXT;

-- The time of the first claim, if the settlement was reclaimed since; otherwise that is "created_at". So it never changes: pages are in its order.
ALTER TABLE "settlements" ADD COLUMN "first_claimed_at" TIMESTAMPTZ(3);
