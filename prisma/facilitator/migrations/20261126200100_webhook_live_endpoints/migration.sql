-- Deleted endpoints stay until their deliveries are deleted. What asks for those of an owner must not read them, so none of these indexes
-- has both kinds.
CREATE INDEX "webhook_endpoints_live_idx" ON "webhook_endpoints" ("owner", "created_at") WHERE "deleted_at" IS NULL;
CREATE INDEX "webhook_endpoints_deleted_idx" ON "webhook_endpoints" ("owner", "created_at") WHERE "deleted_at" IS NOT NULL;
DROP INDEX "webhook_endpoints_owner_created_at_idx";

-- From now on, a deletion clears them.
UPDATE "webhook_endpoints" SET "url" = '', "description" = '' WHERE "deleted_at" IS NOT NULL;
