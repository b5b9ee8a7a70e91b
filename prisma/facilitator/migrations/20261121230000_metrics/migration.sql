-- Nothing was ever written to it: requests are counted from this version on.
DROP TABLE "http_metrics";

-- CreateTable
CREATE TABLE "http_metrics" (
    "user_id" INTEGER NOT NULL,
    "day" DATE NOT NULL,
    "method" TEXT NOT NULL,
    "route" TEXT NOT NULL,
    "status" INTEGER NOT NULL,
    "count" BIGINT NOT NULL,
    "buckets" SMALLINT[],
    "counts" BIGINT[],

    CONSTRAINT "http_metrics_pkey" PRIMARY KEY ("user_id","day","method","route","status")
);

-- CreateTable
CREATE TABLE "client_metrics" (
    "user_id" INTEGER NOT NULL,
    "day" DATE NOT NULL,
    "client_id" TEXT NOT NULL,
    "count" BIGINT NOT NULL,
    "buckets" SMALLINT[],
    "counts" BIGINT[],

    CONSTRAINT "client_metrics_pkey" PRIMARY KEY ("user_id","day","client_id")
);

-- CreateTable
CREATE TABLE "settlement_refusals" (
    "client_id" TEXT NOT NULL,
    "day" DATE NOT NULL,
    "network" TEXT NOT NULL,
    "reason" TEXT NOT NULL,
    "count" BIGINT NOT NULL,

    CONSTRAINT "settlement_refusals_pkey" PRIMARY KEY ("client_id","day","network","reason")
);

-- CreateTable
CREATE TABLE "metric_flushes" (
    "replica" UUID NOT NULL,
    "number" BIGINT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "metric_flushes_pkey" PRIMARY KEY ("replica")
);

-- CreateIndex
CREATE INDEX "client_metrics_day_idx" ON "client_metrics"("day");

-- What a schema file cannot say. The same rows are written again twice a second: room in their page spares their indexes.
ALTER TABLE "http_metrics" SET (fillfactor = 70),
  ADD CONSTRAINT "http_metrics_count_check" CHECK ("count" >= 0),
  ADD CONSTRAINT "http_metrics_counts_check" CHECK (cardinality("buckets") = cardinality("counts"));
ALTER TABLE "client_metrics" SET (fillfactor = 70),
  ADD CONSTRAINT "client_metrics_count_check" CHECK ("count" >= 0),
  ADD CONSTRAINT "client_metrics_counts_check" CHECK (cardinality("buckets") = cardinality("counts"));
ALTER TABLE "settlement_refusals" ADD CONSTRAINT "settlement_refusals_count_check" CHECK ("count" >= 0);

-- When a settlement came to its end. What changes a settlement after that leaves it as it is, and so the index alone.
ALTER TABLE "settlements" ADD COLUMN "ended_at" TIMESTAMPTZ(3) GENERATED ALWAYS AS (
  CASE "status" WHEN 'failed' THEN "updated_at" WHEN 'settled' THEN "settled_at" WHEN 'reversed' THEN "settled_at" END
) STORED;

-- All that the metrics read of settlements and of their transactions, so that they need not read these themselves.
CREATE INDEX "settlements_ended_idx" ON "settlements" ("client_id", "ended_at")
  INCLUDE ("network", "asset", "status", "error_reason", "amount", "transaction_id") WHERE "ended_at" IS NOT NULL;
DROP INDEX "settlements_transaction_id_idx";
CREATE INDEX "settlements_transaction_idx" ON "settlements" ("transaction_id")
  INCLUDE ("client_id", "ended_at") WHERE "transaction_id" IS NOT NULL;
CREATE INDEX "transactions_fee_idx" ON "transactions" ("id") INCLUDE ("network", "fee") WHERE "fee" IS NOT NULL;
