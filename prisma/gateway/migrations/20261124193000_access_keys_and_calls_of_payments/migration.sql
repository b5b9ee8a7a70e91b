-- AlterTable
ALTER TABLE "pricing_plans" ADD COLUMN "transfer_methods" TEXT[] DEFAULT ARRAY[]::TEXT[];

-- AlterTable
ALTER TABLE "providers" ADD COLUMN "network" TEXT;

-- AlterTable
ALTER TABLE "payments" ADD COLUMN "call_state" TEXT,
ADD COLUMN "presented_by" BYTEA;
ALTER TABLE "payments" ADD CONSTRAINT "payments_call_state_check"
  CHECK ("call_state" IN ('open', 'reserved', 'served')) NOT VALID;

-- AlterTable
ALTER TABLE "usage" ADD COLUMN "key_id" UUID,
ADD COLUMN "payment_id" UUID;

-- CreateTable
CREATE TABLE "access_keys" (
    "id" UUID NOT NULL,
    "hash" BYTEA NOT NULL,
    "wallet" TEXT NOT NULL,
    "pricing_plan_id" INTEGER NOT NULL,
    "label" TEXT NOT NULL,
    "chains" TEXT[],
    "methods" TEXT[],
    "origins" TEXT[],
    "max_credits" BIGINT,
    "max_credits_per_day" BIGINT,
    "spent" BIGINT NOT NULL DEFAULT 0,
    "day" DATE,
    "spent_on_day" BIGINT NOT NULL DEFAULT 0,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3),
    "deleted_at" TIMESTAMPTZ(3),

    CONSTRAINT "access_keys_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "access_keys_spent_check" CHECK ("spent" >= 0 AND "spent_on_day" >= 0),
    CONSTRAINT "access_keys_caps_check" CHECK ("max_credits" > 0 AND "max_credits_per_day" > 0)
);

-- CreateIndex
CREATE UNIQUE INDEX "access_keys_hash_key" ON "access_keys"("hash");

-- CreateIndex
CREATE INDEX "access_keys_wallet_created_at_idx" ON "access_keys"("wallet", "created_at" DESC);

-- AddForeignKey
ALTER TABLE "access_keys" ADD CONSTRAINT "access_keys_pricing_plan_id_fkey" FOREIGN KEY ("pricing_plan_id") REFERENCES "pricing_plans"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- A key is updated with each batch of its calls: with room on the page, in place (HOT).
ALTER TABLE "access_keys" SET (fillfactor = 50);

-- CreateTable
CREATE TABLE "payment_identifiers" (
    "payer" TEXT NOT NULL,
    "id" TEXT NOT NULL,
    "fingerprint" TEXT NOT NULL,
    "payment_id" UUID NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "payment_identifiers_pkey" PRIMARY KEY ("payer","id")
);

-- CreateIndex
CREATE UNIQUE INDEX "payment_identifiers_payment_id_key" ON "payment_identifiers"("payment_id");

-- CreateIndex
CREATE INDEX "payment_identifiers_created_at_idx" ON "payment_identifiers"("created_at");
