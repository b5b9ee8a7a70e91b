-- CreateTable
CREATE TABLE "usage_totals" (
    "account_id" BIGINT NOT NULL,
    "interval" TEXT NOT NULL,
    "period" TIMESTAMPTZ(0) NOT NULL,
    "chain_id" TEXT NOT NULL,
    "rpc_method" TEXT NOT NULL,
    "calls" BIGINT NOT NULL,
    "credits" BIGINT NOT NULL,
    "failed" BIGINT NOT NULL,

    CONSTRAINT "usage_totals_pkey" PRIMARY KEY ("account_id","interval","period","chain_id","rpc_method"),
    CONSTRAINT "usage_totals_interval_check" CHECK ("interval" IN ('hour', 'day'))
);

-- For the retention job alone: with an index on the columns, Postgres might read the totals of all accounts for those of one.
CREATE INDEX "usage_totals_age_idx" ON "usage_totals" (("interval" || ' totals'), "period");

-- CreateTable
CREATE TABLE "usage_totals_progress" (
    "id" INTEGER NOT NULL,
    "last_call" BIGINT NOT NULL,

    CONSTRAINT "usage_totals_progress_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "usage_totals_progress_one_row_check" CHECK ("id" = 1)
);

-- The gateways count the calls that are there, in steps. Calls that are not committed yet have ids near the others.
INSERT INTO "usage_totals_progress" ("id", "last_call")
SELECT 1, greatest(coalesce(min("id"), 0) - 100000, 0) FROM "usage";

-- Each step updates the same few rows: with room on the page, in place (HOT).
ALTER TABLE "usage_totals" SET (fillfactor = 70);
ALTER TABLE "usage_totals_progress" SET (fillfactor = 10);
