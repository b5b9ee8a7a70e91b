-- The facilitator repeats what it said of a claim under the key of that claim: each time a refused payment is asked about again, it is
-- asked under a key of its own.
ALTER TABLE "payments" ADD COLUMN "round" INTEGER NOT NULL DEFAULT 1;
