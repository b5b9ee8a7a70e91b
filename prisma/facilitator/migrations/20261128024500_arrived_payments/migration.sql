-- Payments that were on chain before they were claimed. Releases before this one leave the columns at their defaults.
ALTER TABLE "settlements"
  ADD COLUMN "counts_arrived" BOOLEAN NOT NULL DEFAULT false,
  ADD COLUMN "arrived" BOOLEAN NOT NULL DEFAULT false,
  ADD COLUMN "transfer" TEXT;
