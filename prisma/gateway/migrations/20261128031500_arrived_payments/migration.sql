-- A payment that was on chain before it was first presented serves no call without a sign-in. Releases before this one leave the default.
ALTER TABLE "payments" ADD COLUMN "arrived" BOOLEAN NOT NULL DEFAULT false;
