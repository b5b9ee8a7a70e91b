-- Those that it deletes. A statement alone, so that it stops no writer.
CREATE INDEX CONCURRENTLY "payments_failed_idx" ON "payments" ("updated_at") WHERE "status" = 'failed' AND "transaction" IS NULL;
