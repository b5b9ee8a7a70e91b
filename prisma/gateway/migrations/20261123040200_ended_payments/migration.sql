-- Those whose request the retention job drops, by the time since which they have ended. A statement alone, so that it stops no writer.
CREATE INDEX CONCURRENTLY "payments_ended_idx" ON "payments" ("updated_at") WHERE "status" IN ('credited', 'failed') AND "request_dropped_at" IS NULL;
