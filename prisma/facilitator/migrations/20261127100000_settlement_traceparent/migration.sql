-- The trace that the settlement belongs to, if it is sampled. Nullable, so that no row is rewritten or read; the version before ignores it.
ALTER TABLE "settlements" ADD COLUMN "traceparent" VARCHAR(55);
