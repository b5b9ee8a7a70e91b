-- AlterTable
ALTER TABLE "sessions" ADD COLUMN     "signed_by" TEXT;

-- AlterTable
ALTER TABLE "accounts" ADD COLUMN     "archived_credits" BIGINT NOT NULL DEFAULT 0;

-- AlterTable
ALTER TABLE "payments" ADD COLUMN     "request_dropped_at" TIMESTAMPTZ(3);

-- What a schema file cannot say.
ALTER TABLE "sessions" ADD CONSTRAINT "sessions_signed_by_check" CHECK ("signed_by" IN ('key', 'contract'));
ALTER TABLE "accounts" ADD CONSTRAINT "accounts_archived_credits_check" CHECK ("archived_credits" >= 0);
