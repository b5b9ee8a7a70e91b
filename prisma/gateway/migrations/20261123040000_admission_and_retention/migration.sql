-- AlterTable
ALTER TABLE "sessions" ADD COLUMN     "signed_by" TEXT;

-- AlterTable
ALTER TABLE "accounts" ADD COLUMN     "archived_credits" BIGINT NOT NULL DEFAULT 0;

-- AlterTable
ALTER TABLE "payments" ADD COLUMN     "request_dropped_at" TIMESTAMPTZ(3);

-- CreateIndex
CREATE INDEX "refresh_tokens_expires_at_idx" ON "refresh_tokens"("expires_at");

-- What a schema file cannot say.
ALTER TABLE "sessions" ADD CONSTRAINT "sessions_signed_by_check" CHECK ("signed_by" IN ('key', 'contract'));
ALTER TABLE "accounts" ADD CONSTRAINT "accounts_archived_credits_check" CHECK ("archived_credits" >= 0);

-- Payments whose outcome is not known, by wallet; those that the retention job looks for, by the time since which they have ended.
CREATE INDEX "payments_open_wallet_idx" ON "payments" ("wallet", "pricing_plan_id") WHERE "status" IN ('received', 'settling', 'settled');
CREATE INDEX "payments_ended_idx" ON "payments" ("updated_at") WHERE "status" IN ('credited', 'failed') AND "request_dropped_at" IS NULL;
CREATE INDEX "payments_failed_idx" ON "payments" ("updated_at") WHERE "status" = 'failed' AND "transaction" IS NULL;
