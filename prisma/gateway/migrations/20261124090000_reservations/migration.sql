-- CreateTable
CREATE TABLE "reservations" (
    "first_call" BIGINT NOT NULL,
    "last_call" BIGINT NOT NULL,
    "replica_id" UUID NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "reservations_pkey" PRIMARY KEY ("first_call")
);

-- DropForeignKey
ALTER TABLE "usage" DROP CONSTRAINT "usage_account_id_fkey";

INSERT INTO "reservations" ("first_call", "last_call", "replica_id", "created_at")
SELECT "id", "id", "replica_id", "created_at" FROM "usage" WHERE "state" = 'reserved';

-- Without an index on what an ending changes, and with room on the page, Postgres updates a row in place (HOT).
DROP INDEX "usage_reserved_idx";
ALTER TABLE "usage" SET (fillfactor = 70);
ALTER TABLE "accounts" SET (fillfactor = 50);
