-- AlterTable
ALTER TABLE "accounts" ADD COLUMN     "calls" BIGINT NOT NULL DEFAULT 0;

-- Nobody spends meanwhile: the line above keeps the accounts locked until all of this is committed.
UPDATE "accounts" SET "calls" = made."calls"
FROM (SELECT "account_id", count(*) AS "calls" FROM "usage" GROUP BY "account_id") AS made
WHERE "accounts"."id" = made."account_id";

-- DropIndex
DROP INDEX "payments_wallet_created_at_idx";

-- CreateIndex
CREATE INDEX "payments_wallet_created_at_id_idx" ON "payments"("wallet", "created_at" DESC, "id" DESC);
