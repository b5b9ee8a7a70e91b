-- Caps of a client key; null is none. Fees: of 24 hours, for each network, in its native smallest unit.
ALTER TABLE "clients" ADD COLUMN "max_fees_per_day" DECIMAL(78,0), ADD COLUMN "max_payments_per_minute" INTEGER;
ALTER TABLE "clients" ADD CONSTRAINT "clients_max_fees_per_day_check" CHECK ("max_fees_per_day" >= 0);
ALTER TABLE "clients" ADD CONSTRAINT "clients_max_payments_per_minute_check" CHECK ("max_payments_per_minute" >= 1);

-- An invitation has a number for operators, may be for one email only, and may never expire.
ALTER TABLE "invitations" ADD COLUMN "id" SERIAL NOT NULL, ADD COLUMN "email" TEXT;
ALTER TABLE "invitations" ALTER COLUMN "expires_at" DROP NOT NULL;
CREATE UNIQUE INDEX "invitations_id_key" ON "invitations"("id");

-- Recipients that only the client keys of one user settle payments to.
CREATE TABLE "reserved_recipients" (
    "id" SERIAL NOT NULL,
    "user_id" INTEGER NOT NULL,
    "network" TEXT NOT NULL,
    "address" TEXT NOT NULL,
    "proof" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "reserved_recipients_pkey" PRIMARY KEY ("id")
);
CREATE UNIQUE INDEX "reserved_recipients_network_address_key" ON "reserved_recipients"("network", "address");
CREATE INDEX "reserved_recipients_user_id_id_idx" ON "reserved_recipients"("user_id", "id");
ALTER TABLE "reserved_recipients" ADD CONSTRAINT "reserved_recipients_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
ALTER TABLE "reserved_recipients" ADD CONSTRAINT "reserved_recipients_proof_check" CHECK ("proof" IN ('signature', 'operator'));

-- Addresses whose payments an operator refuses.
CREATE TABLE "denied_addresses" (
    "address" TEXT NOT NULL,
    "note" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "denied_addresses_pkey" PRIMARY KEY ("address")
);
