-- What a transaction may cost us at most: fees of a day are capped before they are spent. One that only comes before
-- others lets their payers spend our money, be it on something else: what it may cost stays counted.
ALTER TABLE "transactions" ADD COLUMN "cost" DECIMAL(78,0),
  ADD COLUMN "is_first" BOOLEAN NOT NULL DEFAULT false;
ALTER TABLE "transactions" ADD CONSTRAINT "transactions_cost_check" CHECK ("cost" >= 0);
CREATE INDEX "transactions_cost_idx" ON "transactions" ("network", "signed_at") WHERE "cost" > 0 AND "nonce" IS NOT NULL;

-- What waits for a transaction of ours that only has to come first has not been sent itself: it has no hash yet.
ALTER TABLE "settlements" DROP CONSTRAINT "settlements_signed_check";
ALTER TABLE "settlements" ADD CONSTRAINT "settlements_signed_check" CHECK ("status" <> 'signed' OR "transaction_id" IS NOT NULL);
