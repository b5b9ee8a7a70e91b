-- AlterTable
ALTER TABLE "users" ADD COLUMN     "resource_count" INTEGER NOT NULL DEFAULT 0;

UPDATE "users" SET "resource_count" = (SELECT count(*) FROM "resources" WHERE "resources"."user_id" = "users"."id");

-- What a schema file cannot say.
ALTER TABLE "users" ADD CONSTRAINT "users_resource_count_check" CHECK ("resource_count" >= 0);
ALTER TABLE "resources" ADD CONSTRAINT "resources_x402_version_check" CHECK ("x402_version" IN (1, 2)),
  ADD CONSTRAINT "resources_accepts_check" CHECK (jsonb_typeof("accepts") = 'array' AND "accepts" <> '[]'),
  ADD CONSTRAINT "resources_metadata_check" CHECK (jsonb_typeof("metadata") = 'object');
