-- The highest block of any node when a payment was claimed: what somebody else had mined by then does not count for it. 0 of older
-- claims, for which any does, as before.
ALTER TABLE "settlements" ADD COLUMN "seen_block" BIGINT NOT NULL DEFAULT 0;

-- An asset that is suspended is not active either, so that the version before takes no payments in it.
ALTER TABLE "assets" ADD COLUMN "suspended_at" TIMESTAMPTZ(3), ADD COLUMN "suspension" TEXT,
  ADD CONSTRAINT "assets_suspended_check" CHECK ("suspended_at" IS NULL OR NOT "active");

CREATE TABLE "asset_faults" (
    "transaction_id" BIGINT NOT NULL,
    "network" TEXT NOT NULL,
    "asset" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "asset_faults_pkey" PRIMARY KEY ("transaction_id")
);
CREATE INDEX "asset_faults_network_asset_created_at_idx" ON "asset_faults"("network", "asset", "created_at");
ALTER TABLE "asset_faults" ADD CONSTRAINT "asset_faults_transaction_id_fkey" FOREIGN KEY ("transaction_id") REFERENCES "transactions"("id") ON DELETE CASCADE ON UPDATE CASCADE;
