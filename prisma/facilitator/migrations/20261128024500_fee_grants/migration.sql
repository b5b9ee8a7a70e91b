-- What a fee grant may cost for one payment, and whether its payer had earned it: a payer can waste a grant, and new payers are free.
CREATE TABLE "fee_grants" (
    "transaction_id" BIGINT NOT NULL,
    "settlement_id" BIGINT NOT NULL,
    "client_id" TEXT NOT NULL,
    "part" DECIMAL(78,0) NOT NULL,
    "is_unproven" BOOLEAN NOT NULL,

    CONSTRAINT "fee_grants_pkey" PRIMARY KEY ("transaction_id", "settlement_id")
);
CREATE INDEX "fee_grants_settlement_id_idx" ON "fee_grants"("settlement_id");
ALTER TABLE "fee_grants" ADD CONSTRAINT "fee_grants_transaction_id_fkey" FOREIGN KEY ("transaction_id") REFERENCES "transactions"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "fee_grants" ADD CONSTRAINT "fee_grants_settlement_id_fkey" FOREIGN KEY ("settlement_id") REFERENCES "settlements"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
ALTER TABLE "fee_grants" ADD CONSTRAINT "fee_grants_client_id_fkey" FOREIGN KEY ("client_id") REFERENCES "clients"("client_id") ON DELETE RESTRICT ON UPDATE CASCADE;
ALTER TABLE "fee_grants" ADD CONSTRAINT "fee_grants_part_check" CHECK ("part" > 0);
