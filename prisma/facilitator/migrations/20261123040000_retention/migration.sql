-- AlterTable
ALTER TABLE "settlements" ADD COLUMN     "request_id" TEXT;

-- CreateIndex
CREATE INDEX "refresh_tokens_expires_at_idx" ON "refresh_tokens"("expires_at");

-- CreateIndex
CREATE INDEX "http_metrics_day_idx" ON "http_metrics"("day");

-- CreateIndex
CREATE INDEX "settlement_refusals_day_idx" ON "settlement_refusals"("day");

-- What the retention job looks for: keys that are over, by the time since which they are.
CREATE INDEX "clients_over_idx" ON "clients" (least("deleted_at", "expires_at")) WHERE "deleted_at" IS NOT NULL OR "expires_at" IS NOT NULL;
