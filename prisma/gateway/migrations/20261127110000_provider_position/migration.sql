-- The order of the catalog file. The stored order is that in which the providers were added, as before.
ALTER TABLE "providers" ADD COLUMN "position" INTEGER NOT NULL DEFAULT 1;

UPDATE "providers" SET "position" = numbered."position"
FROM (
  SELECT "id", row_number() OVER (PARTITION BY "category", "chain_id" ORDER BY "active" DESC, "id") AS "position" FROM "providers"
) AS numbered
WHERE "providers"."id" = numbered."id";
