-- CreateTable
CREATE TABLE "users" (
    "id" SERIAL NOT NULL,
    "email" TEXT NOT NULL,
    "password_hash" TEXT NOT NULL,
    "is_admin" BOOLEAN NOT NULL DEFAULT false,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "users_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "refresh_tokens" (
    "hash" BYTEA NOT NULL,
    "user_id" INTEGER NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "refresh_tokens_pkey" PRIMARY KEY ("hash")
);

-- CreateTable
CREATE TABLE "clients" (
    "client_id" TEXT NOT NULL,
    "user_id" INTEGER NOT NULL,
    "token_hash" BYTEA NOT NULL,
    "title" TEXT NOT NULL,
    "scope" TEXT[],
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3),
    "deleted_at" TIMESTAMPTZ(3),

    CONSTRAINT "clients_pkey" PRIMARY KEY ("client_id")
);

-- CreateTable
CREATE TABLE "resources" (
    "id" SERIAL NOT NULL,
    "user_id" INTEGER NOT NULL,
    "resource" TEXT NOT NULL,
    "type" TEXT NOT NULL,
    "x402_version" INTEGER NOT NULL,
    "accepts" JSONB NOT NULL,
    "metadata" JSONB NOT NULL DEFAULT '{}',
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "resources_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "assets" (
    "id" SERIAL NOT NULL,
    "network" TEXT NOT NULL,
    "asset" TEXT NOT NULL,
    "symbol" TEXT NOT NULL,
    "decimals" INTEGER NOT NULL,
    "name" TEXT,
    "version" TEXT,
    "active" BOOLEAN NOT NULL DEFAULT true,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "assets_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "settlements" (
    "id" BIGSERIAL NOT NULL,
    "network" TEXT NOT NULL,
    "asset" TEXT NOT NULL,
    "payer" TEXT NOT NULL,
    "nonce" TEXT NOT NULL,
    "pay_to" TEXT NOT NULL,
    "amount" DECIMAL(78,0) NOT NULL,
    "client_id" TEXT NOT NULL,
    "request_hash" BYTEA NOT NULL,
    "idempotency_key" TEXT,
    "payload" TEXT NOT NULL,
    "status" TEXT NOT NULL DEFAULT 'claimed',
    "transaction_id" BIGINT,
    "transaction_hash" TEXT,
    "block_number" BIGINT,
    "error_reason" TEXT,
    "handed_out_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "settled_at" TIMESTAMPTZ(3),

    CONSTRAINT "settlements_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "transactions" (
    "id" BIGSERIAL NOT NULL,
    "network" TEXT NOT NULL,
    "signer" TEXT NOT NULL,
    "nonce" BIGINT NOT NULL,
    "raw" TEXT NOT NULL,
    "hash" TEXT NOT NULL,
    "status" TEXT NOT NULL DEFAULT 'signed',
    "broadcast_at" TIMESTAMPTZ(3),
    "block_number" BIGINT,
    "fee" DECIMAL(78,0),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "transactions_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "http_metrics" (
    "day" DATE NOT NULL,
    "user_id" INTEGER NOT NULL DEFAULT 0,
    "client_id" TEXT NOT NULL DEFAULT '',
    "method" TEXT NOT NULL,
    "route" TEXT NOT NULL,
    "status" INTEGER NOT NULL,
    "count" BIGINT NOT NULL,
    "latencies" BIGINT[],

    CONSTRAINT "http_metrics_pkey" PRIMARY KEY ("day","user_id","client_id","method","route","status")
);

-- CreateIndex
CREATE UNIQUE INDEX "users_email_key" ON "users"("email");

-- CreateIndex
CREATE INDEX "refresh_tokens_user_id_idx" ON "refresh_tokens"("user_id");

-- CreateIndex
CREATE INDEX "clients_user_id_created_at_idx" ON "clients"("user_id", "created_at");

-- CreateIndex
CREATE INDEX "resources_user_id_id_idx" ON "resources"("user_id", "id");

-- CreateIndex
CREATE UNIQUE INDEX "assets_network_asset_key" ON "assets"("network", "asset");

-- CreateIndex
CREATE INDEX "settlements_client_id_created_at_idx" ON "settlements"("client_id", "created_at");

-- CreateIndex
CREATE INDEX "settlements_transaction_id_idx" ON "settlements"("transaction_id");

-- CreateIndex
CREATE UNIQUE INDEX "settlements_network_asset_payer_nonce_key" ON "settlements"("network", "asset", "payer", "nonce");

-- CreateIndex
CREATE UNIQUE INDEX "transactions_hash_key" ON "transactions"("hash");

-- CreateIndex
CREATE UNIQUE INDEX "transactions_network_signer_nonce_key" ON "transactions"("network", "signer", "nonce");

-- AddForeignKey
ALTER TABLE "refresh_tokens" ADD CONSTRAINT "refresh_tokens_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "clients" ADD CONSTRAINT "clients_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "resources" ADD CONSTRAINT "resources_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "settlements" ADD CONSTRAINT "settlements_network_asset_fkey" FOREIGN KEY ("network", "asset") REFERENCES "assets"("network", "asset") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "settlements" ADD CONSTRAINT "settlements_client_id_fkey" FOREIGN KEY ("client_id") REFERENCES "clients"("client_id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "settlements" ADD CONSTRAINT "settlements_transaction_id_fkey" FOREIGN KEY ("transaction_id") REFERENCES "transactions"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- What a schema file cannot say: the words that a state may be, what each state must know, and money that is never negative.
ALTER TABLE "users" ADD CONSTRAINT "users_email_check" CHECK ("email" = lower("email"));
ALTER TABLE "refresh_tokens" ADD CONSTRAINT "refresh_tokens_hash_check" CHECK (octet_length("hash") = 32);
ALTER TABLE "clients" ADD CONSTRAINT "clients_token_hash_check" CHECK (octet_length("token_hash") = 32),
  ADD CONSTRAINT "clients_scope_check" CHECK ("scope" <@ ARRAY['verify', 'settle', 'supported']);
ALTER TABLE "assets" ADD CONSTRAINT "assets_decimals_check" CHECK ("decimals" BETWEEN 0 AND 77);
ALTER TABLE "settlements" ADD CONSTRAINT "settlements_status_check" CHECK ("status" IN ('claimed', 'signed', 'settled', 'failed', 'reversed')),
  ADD CONSTRAINT "settlements_amount_check" CHECK ("amount" > 0),
  ADD CONSTRAINT "settlements_request_hash_check" CHECK (octet_length("request_hash") = 32),
  ADD CONSTRAINT "settlements_signed_check" CHECK ("status" <> 'signed' OR ("transaction_id" IS NOT NULL AND "transaction_hash" IS NOT NULL)),
  ADD CONSTRAINT "settlements_settled_check" CHECK ("status" <> 'settled' OR ("transaction_hash" IS NOT NULL AND "block_number" IS NOT NULL AND "settled_at" IS NOT NULL)),
  ADD CONSTRAINT "settlements_failed_check" CHECK ("status" <> 'failed' OR "error_reason" IS NOT NULL),
  ADD CONSTRAINT "settlements_handed_out_check" CHECK ("handed_out_at" IS NULL OR "status" IN ('settled', 'reversed'));
ALTER TABLE "transactions" ADD CONSTRAINT "transactions_status_check" CHECK ("status" IN ('signed', 'mined')),
  ADD CONSTRAINT "transactions_nonce_check" CHECK ("nonce" >= 0),
  ADD CONSTRAINT "transactions_mined_check" CHECK ("status" <> 'mined' OR ("block_number" IS NOT NULL AND "fee" IS NOT NULL AND "fee" >= 0));
ALTER TABLE "http_metrics" ADD CONSTRAINT "http_metrics_count_check" CHECK ("count" >= 0);

-- The settlements that somebody still has to end, few among very many.
CREATE INDEX "settlements_open_idx" ON "settlements" ("network", "status", "id") WHERE "status" IN ('claimed', 'signed');
