-- The trace that the payment belongs to, if it is sampled. Nullable, so that no row is rewritten or read; the version before ignores it.
ALTER TABLE "payments" ADD COLUMN "traceparent" VARCHAR(55);
