-- What merchants find their settlements by, as the request names it; null in older rows.
ALTER TABLE "settlements" ADD COLUMN "resource" TEXT, ADD COLUMN "payment_identifier" TEXT;

-- The time of the first claim, if the settlement was reclaimed since; otherwise that is "created_at". So it never changes: pages are in its order.
ALTER TABLE "settlements" ADD COLUMN "first_claimed_at" TIMESTAMPTZ(3);

-- A client key may read its settlements. The release before this one takes a key of this scope alone for one of all operations.
ALTER TABLE "clients" DROP CONSTRAINT "clients_scope_check";
ALTER TABLE "clients"
  ADD CONSTRAINT "clients_scope_check" CHECK ("scope" <@ ARRAY['verify', 'settle', 'supported', 'settlements']);
