-- Shares of a network's max_fees_per_day, in hundredths of a percent; null is the configured default. Users and keys from before keep
-- all that they had.
ALTER TABLE "users" ADD COLUMN "fee_share_bps" INTEGER, ADD COLUMN "disabled_at" TIMESTAMPTZ(3);
UPDATE "users" SET "fee_share_bps" = 10000;
ALTER TABLE "users" ADD CONSTRAINT "users_fee_share_bps_check" CHECK ("fee_share_bps" BETWEEN 0 AND 10000);

-- pay_to: the recipients that the key may settle for; empty is any.
ALTER TABLE "clients" ADD COLUMN "fee_share_bps" INTEGER, ADD COLUMN "pay_to" TEXT[] NOT NULL DEFAULT '{}';
UPDATE "clients" SET "fee_share_bps" = 10000;
ALTER TABLE "clients" ADD CONSTRAINT "clients_fee_share_bps_check" CHECK ("fee_share_bps" BETWEEN 0 AND 10000);

-- Null is a thousandth of the asset's whole unit.
ALTER TABLE "assets" ADD COLUMN "min_amount" DECIMAL(78,0);
ALTER TABLE "assets" ADD CONSTRAINT "assets_min_amount_check" CHECK ("min_amount" >= 1);

-- Whose payments a transaction of ours carries, and how much of its highest possible fee is for them.
CREATE TABLE "fee_shares" (
    "transaction_id" BIGINT NOT NULL,
    "client_id" TEXT NOT NULL,
    "payments" INTEGER NOT NULL,
    "part" DECIMAL(78,0) NOT NULL,
    "whole" DECIMAL(78,0) NOT NULL,

    CONSTRAINT "fee_shares_pkey" PRIMARY KEY ("transaction_id", "client_id")
);
ALTER TABLE "fee_shares" ADD CONSTRAINT "fee_shares_transaction_id_fkey" FOREIGN KEY ("transaction_id") REFERENCES "transactions"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "fee_shares" ADD CONSTRAINT "fee_shares_client_id_fkey" FOREIGN KEY ("client_id") REFERENCES "clients"("client_id") ON DELETE RESTRICT ON UPDATE CASCADE;
ALTER TABLE "fee_shares" ADD CONSTRAINT "fee_shares_part_check" CHECK ("payments" > 0 AND "part" >= 0 AND "whole" > 0 AND "part" <= "whole");

-- Each admits one new user where sign-up is by invitation. Only the SHA-256 of the token is kept.
CREATE TABLE "invitations" (
    "hash" BYTEA NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "used_at" TIMESTAMPTZ(3),

    CONSTRAINT "invitations_pkey" PRIMARY KEY ("hash")
);
