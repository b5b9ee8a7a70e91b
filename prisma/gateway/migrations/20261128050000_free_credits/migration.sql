-- Free credits are accounts and grants of plan 0, which is no row of "pricing_plans" because nothing sells it. What is bought has the
-- plan of its payment, whose foreign key stays.
ALTER TABLE "accounts" DROP CONSTRAINT "accounts_pricing_plan_id_fkey";

-- Null for free credits.
ALTER TABLE "grants" ALTER COLUMN "payment_id" DROP NOT NULL;

CREATE TABLE "free_credit_days" (
    "day" DATE NOT NULL,
    "given" BIGINT NOT NULL DEFAULT 0,

    CONSTRAINT "free_credit_days_pkey" PRIMARY KEY ("day")
);

CREATE TABLE "free_credit_shares" (
    "id" UUID NOT NULL,
    "day" DATE NOT NULL,
    "address" BYTEA NOT NULL,
    "given" BIGINT NOT NULL DEFAULT 0,

    CONSTRAINT "free_credit_shares_pkey" PRIMARY KEY ("id")
);

CREATE UNIQUE INDEX "free_credit_shares_day_address_key" ON "free_credit_shares"("day", "address");
