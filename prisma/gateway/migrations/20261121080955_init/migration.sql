-- CreateTable
CREATE TABLE "pricing_plans" (
    "id" INTEGER NOT NULL,
    "plan_name" TEXT NOT NULL,
    "network" TEXT NOT NULL,
    "chain_id" TEXT NOT NULL,
    "ecosystem" TEXT NOT NULL,
    "asset_address" TEXT NOT NULL,
    "asset_name" TEXT,
    "asset_version" TEXT,
    "amount" DECIMAL(78,0) NOT NULL,
    "decimals" INTEGER NOT NULL,
    "display_denom" TEXT NOT NULL,
    "credits" INTEGER NOT NULL,
    "pay_to" TEXT NOT NULL,
    "max_timeout_seconds" INTEGER NOT NULL DEFAULT 60,
    "active" BOOLEAN NOT NULL DEFAULT true,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "pricing_plans_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "providers" (
    "id" SERIAL NOT NULL,
    "provider_id" TEXT NOT NULL,
    "category" TEXT NOT NULL,
    "chain_id" TEXT NOT NULL,
    "rpc" TEXT[],
    "rest" TEXT[],
    "description" TEXT NOT NULL DEFAULT '',
    "methods" JSONB NOT NULL DEFAULT '{}',
    "active" BOOLEAN NOT NULL DEFAULT true,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "providers_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "sessions" (
    "id" UUID NOT NULL,
    "wallet" TEXT NOT NULL,
    "auth_method" TEXT NOT NULL,
    "chain_id" TEXT NOT NULL,
    "ecosystem" TEXT NOT NULL,
    "pricing_plan_id" INTEGER NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "revoked_at" TIMESTAMPTZ(3),

    CONSTRAINT "sessions_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "refresh_tokens" (
    "hash" BYTEA NOT NULL,
    "session_id" UUID NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "used_at" TIMESTAMPTZ(3),

    CONSTRAINT "refresh_tokens_pkey" PRIMARY KEY ("hash")
);

-- CreateTable
CREATE TABLE "accounts" (
    "id" BIGSERIAL NOT NULL,
    "wallet" TEXT NOT NULL,
    "pricing_plan_id" INTEGER NOT NULL,
    "balance" BIGINT NOT NULL DEFAULT 0,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "accounts_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "usage" (
    "id" BIGSERIAL NOT NULL,
    "account_id" BIGINT NOT NULL,
    "replica_id" UUID NOT NULL,
    "provider_id" TEXT NOT NULL,
    "ecosystem" TEXT NOT NULL,
    "chain_id" TEXT NOT NULL,
    "transport" TEXT NOT NULL,
    "method" TEXT NOT NULL,
    "resource" TEXT NOT NULL,
    "rpc_method" TEXT,
    "credits" INTEGER NOT NULL,
    "state" TEXT NOT NULL DEFAULT 'reserved',
    "status_code" INTEGER,
    "outcome" TEXT,
    "latency_ms" INTEGER,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "finished_at" TIMESTAMPTZ(3),

    CONSTRAINT "usage_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "grants" (
    "id" BIGSERIAL NOT NULL,
    "account_id" BIGINT NOT NULL,
    "payment_id" UUID NOT NULL,
    "credits" BIGINT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "grants_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "payments" (
    "id" UUID NOT NULL,
    "wallet" TEXT NOT NULL,
    "pricing_plan_id" INTEGER NOT NULL,
    "network" TEXT NOT NULL,
    "chain_id" TEXT NOT NULL,
    "asset" TEXT NOT NULL,
    "amount" DECIMAL(78,0) NOT NULL,
    "payer" TEXT NOT NULL,
    "pay_to" TEXT NOT NULL,
    "nonce" TEXT NOT NULL,
    "credits" INTEGER NOT NULL,
    "request" JSONB NOT NULL,
    "status" TEXT NOT NULL DEFAULT 'received',
    "transaction" TEXT,
    "block_number" BIGINT,
    "error_reason" TEXT,
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "next_attempt_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,
    "settled_at" TIMESTAMPTZ(3),

    CONSTRAINT "payments_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "replicas" (
    "id" UUID NOT NULL,
    "heartbeat_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "replicas_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "providers_category_chain_id_idx" ON "providers"("category", "chain_id");

-- CreateIndex
CREATE UNIQUE INDEX "providers_provider_id_category_chain_id_key" ON "providers"("provider_id", "category", "chain_id");

-- CreateIndex
CREATE INDEX "refresh_tokens_session_id_idx" ON "refresh_tokens"("session_id");

-- CreateIndex
CREATE UNIQUE INDEX "accounts_wallet_pricing_plan_id_key" ON "accounts"("wallet", "pricing_plan_id");

-- CreateIndex
CREATE INDEX "usage_account_id_id_idx" ON "usage"("account_id", "id" DESC);

-- CreateIndex
CREATE UNIQUE INDEX "grants_payment_id_key" ON "grants"("payment_id");

-- CreateIndex
CREATE INDEX "grants_account_id_idx" ON "grants"("account_id");

-- CreateIndex
CREATE INDEX "payments_wallet_created_at_idx" ON "payments"("wallet", "created_at" DESC);

-- CreateIndex
-- CreateIndex
CREATE UNIQUE INDEX "payments_chain_id_asset_payer_nonce_key" ON "payments"("chain_id", "asset", "payer", "nonce");

-- AddForeignKey
ALTER TABLE "sessions" ADD CONSTRAINT "sessions_pricing_plan_id_fkey" FOREIGN KEY ("pricing_plan_id") REFERENCES "pricing_plans"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "refresh_tokens" ADD CONSTRAINT "refresh_tokens_session_id_fkey" FOREIGN KEY ("session_id") REFERENCES "sessions"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "accounts" ADD CONSTRAINT "accounts_pricing_plan_id_fkey" FOREIGN KEY ("pricing_plan_id") REFERENCES "pricing_plans"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "usage" ADD CONSTRAINT "usage_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "grants" ADD CONSTRAINT "grants_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "grants" ADD CONSTRAINT "grants_payment_id_fkey" FOREIGN KEY ("payment_id") REFERENCES "payments"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "payments" ADD CONSTRAINT "payments_pricing_plan_id_fkey" FOREIGN KEY ("pricing_plan_id") REFERENCES "pricing_plans"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- What a schema file cannot say: the words that a state may be, and money that is never negative.
ALTER TABLE "accounts" ADD CONSTRAINT "accounts_balance_check" CHECK ("balance" >= 0);
ALTER TABLE "usage" ADD CONSTRAINT "usage_state_check" CHECK ("state" IN ('reserved', 'done', 'refunded')),
  ADD CONSTRAINT "usage_credits_check" CHECK ("credits" > 0);
ALTER TABLE "grants" ADD CONSTRAINT "grants_credits_check" CHECK ("credits" > 0);
ALTER TABLE "payments" ADD CONSTRAINT "payments_status_check" CHECK ("status" IN ('received', 'settling', 'settled', 'credited', 'failed')),
  ADD CONSTRAINT "payments_amount_check" CHECK ("amount" > 0);
ALTER TABLE "pricing_plans" ADD CONSTRAINT "pricing_plans_terms_check" CHECK ("amount" > 0 AND "credits" > 0);

-- The calls and payments that somebody still has to end, few among very many.
CREATE INDEX "usage_reserved_idx" ON "usage" ("replica_id") WHERE "state" = 'reserved';
CREATE INDEX "payments_open_idx" ON "payments" ("next_attempt_at") WHERE "status" IN ('received', 'settling', 'settled');
