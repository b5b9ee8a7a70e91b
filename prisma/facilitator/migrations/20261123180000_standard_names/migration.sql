-- Names only: no value changes but the status `lost`, which is `superseded` now. The release before this one cannot run beside it.

-- In the order in which a signing round of the release before locks them: one that still runs must not deadlock with this migration.
LOCK TABLE "transactions", "settlements", "charges" IN ACCESS EXCLUSIVE MODE;

ALTER TABLE "settlements" RENAME COLUMN "handed_out_at" TO "success_reported_at";
ALTER TABLE "settlements" RENAME COLUMN "problem" TO "last_error";
ALTER TABLE "settlements" RENAME COLUMN "since_block" TO "min_block";
ALTER TABLE "settlements" RENAME CONSTRAINT "settlements_handed_out_check" TO "settlements_success_reported_check";
ALTER INDEX "settlements_on_their_way_idx" RENAME TO "settlements_in_flight_idx";
ALTER INDEX "settlements_in_vain_idx" RENAME TO "settlements_attempted_idx";

ALTER TABLE "transactions" RENAME COLUMN "is_first" TO "is_fee_grant";
ALTER TABLE "transactions" RENAME COLUMN "offered_at" TO "submitted_at";
ALTER TABLE "transactions" RENAME COLUMN "broadcast_at" TO "accepted_at";
ALTER TABLE "transactions" RENAME COLUMN "cost" TO "max_fee";
ALTER TABLE "transactions" RENAME CONSTRAINT "transactions_cost_check" TO "transactions_max_fee_check";
ALTER INDEX "transactions_cost_idx" RENAME TO "transactions_max_fee_idx";

ALTER TABLE "charges" RENAME TO "fee_allocations";
ALTER TABLE "fee_allocations" RENAME CONSTRAINT "charges_pkey" TO "fee_allocations_pkey";
ALTER TABLE "fee_allocations" RENAME CONSTRAINT "charges_transaction_id_fkey" TO "fee_allocations_transaction_id_fkey";
ALTER TABLE "fee_allocations" RENAME CONSTRAINT "charges_settlement_id_fkey" TO "fee_allocations_settlement_id_fkey";
ALTER INDEX "charges_settlement_id_idx" RENAME TO "fee_allocations_settlement_id_idx";

ALTER TABLE "transactions" DROP CONSTRAINT "transactions_status_check";
DROP INDEX "transactions_nonce_key";
UPDATE "transactions" SET "status" = 'superseded' WHERE "status" = 'lost';
ALTER TABLE "transactions" ADD CONSTRAINT "transactions_status_check" CHECK ("status" IN ('signed', 'mined', 'final', 'superseded'));
CREATE UNIQUE INDEX "transactions_nonce_key" ON "transactions" ("network", "signer", "nonce") WHERE "status" <> 'superseded';
