-- Attempts that are open, of all replicas. A statement alone, so that it stops no writer.
CREATE INDEX CONCURRENTLY "webhook_deliveries_leased_idx" ON "webhook_deliveries" ("leased_until") WHERE "state" = 'pending' AND "leased_until" IS NOT NULL;
