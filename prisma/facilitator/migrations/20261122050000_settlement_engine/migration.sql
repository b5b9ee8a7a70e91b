-- AlterTable
ALTER TABLE "settlements" ADD COLUMN "attempts" INTEGER NOT NULL DEFAULT 0,
ADD COLUMN "fee" DECIMAL(78,0) NOT NULL DEFAULT 0,
ADD COLUMN "problem" TEXT,
ADD COLUMN "retry_at" TIMESTAMPTZ(3);

-- AlterTable
ALTER TABLE "transactions" ADD COLUMN "block_hash" TEXT,
ADD COLUMN "signed_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
ADD COLUMN "offered_at" TIMESTAMPTZ(3) DEFAULT CURRENT_TIMESTAMP,
ALTER COLUMN "nonce" DROP NOT NULL;

-- CreateTable
CREATE TABLE "transaction_versions" (
    "hash" TEXT NOT NULL,
    "transaction_id" BIGINT NOT NULL,
    "raw" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "transaction_versions_pkey" PRIMARY KEY ("hash")
);

-- CreateTable
CREATE TABLE "charges" (
    "transaction_id" BIGINT NOT NULL,
    "settlement_id" BIGINT NOT NULL,
    "fee" DECIMAL(78,0) NOT NULL,

    CONSTRAINT "charges_pkey" PRIMARY KEY ("transaction_id","settlement_id")
);

-- CreateIndex
CREATE INDEX "transaction_versions_transaction_id_idx" ON "transaction_versions"("transaction_id");

-- AddForeignKey
ALTER TABLE "transaction_versions" ADD CONSTRAINT "transaction_versions_transaction_id_fkey" FOREIGN KEY ("transaction_id") REFERENCES "transactions"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "charges" ADD CONSTRAINT "charges_transaction_id_fkey" FOREIGN KEY ("transaction_id") REFERENCES "transactions"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "charges" ADD CONSTRAINT "charges_settlement_id_fkey" FOREIGN KEY ("settlement_id") REFERENCES "settlements"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- What was sent before this version had one version each, and one settlement in each transaction.
INSERT INTO "transaction_versions" ("hash", "transaction_id", "raw", "created_at")
SELECT "hash", "id", "raw", "created_at" FROM "transactions";
-- A settlement and its transaction ended together; the block's hash of those that are over was not kept, and is not asked for.
UPDATE "transactions" SET "signed_at" = "created_at";
UPDATE "settlements" SET "fee" = "transactions"."fee" FROM "transactions"
WHERE "transactions"."id" = "settlements"."transaction_id" AND "transactions"."fee" IS NOT NULL;

ALTER TABLE "transactions" DROP CONSTRAINT "transactions_status_check",
  DROP CONSTRAINT "transactions_mined_check";
UPDATE "transactions" SET "status" = 'final' WHERE "status" = 'mined';
ALTER TABLE "transactions"
  ADD CONSTRAINT "transactions_status_check" CHECK ("status" IN ('signed', 'mined', 'final', 'lost')),
  ADD CONSTRAINT "transactions_mined_check" CHECK ("status" NOT IN ('mined', 'final') OR ("block_number" IS NOT NULL AND "fee" IS NOT NULL AND "fee" >= 0)),
  ADD CONSTRAINT "transactions_block_check" CHECK ("status" <> 'mined' OR "block_hash" IS NOT NULL);
-- What was reversed after success was told may be sent anew; it is never called failed.
ALTER TABLE "settlements" DROP CONSTRAINT "settlements_handed_out_check";
ALTER TABLE "settlements" ADD CONSTRAINT "settlements_handed_out_check" CHECK ("handed_out_at" IS NULL OR "status" <> 'failed'),
  ADD CONSTRAINT "settlements_attempts_check" CHECK ("attempts" >= 0),
  ADD CONSTRAINT "settlements_fee_check" CHECK ("fee" >= 0);

-- What somebody still has to see to, few among very many: settlements by network, and by payer; transactions by signer.
DROP INDEX "settlements_open_idx";
CREATE INDEX "settlements_open_idx" ON "settlements" ("network", "status", "id")
  WHERE "status" IN ('claimed', 'signed') OR ("status" = 'reversed' AND "error_reason" IS NULL);
CREATE INDEX "settlements_on_their_way_idx" ON "settlements" ("network", "asset", "payer") WHERE "status" = 'signed';
CREATE INDEX "transactions_open_idx" ON "transactions" ("network", "signer", "id") WHERE "status" = 'signed';
CREATE INDEX "transactions_watched_idx" ON "transactions" ("network", "signer", "block_number") WHERE "status" = 'mined';

-- Settlement metrics read the share of the fee from the settlement itself.
DROP INDEX "settlements_ended_idx";
CREATE INDEX "settlements_ended_idx" ON "settlements" ("client_id", "ended_at")
  INCLUDE ("network", "asset", "status", "error_reason", "amount", "fee", "transaction_id") WHERE "ended_at" IS NOT NULL;
DROP INDEX "settlements_transaction_idx";
CREATE INDEX "settlements_transaction_idx" ON "settlements" ("transaction_id") WHERE "transaction_id" IS NOT NULL;
DROP INDEX "transactions_fee_idx";
