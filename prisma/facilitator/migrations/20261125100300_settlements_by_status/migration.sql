-- Settlements of a client key that are not settled, few of many. A statement alone, so that it stops no writer.
CREATE INDEX CONCURRENTLY "settlements_status_idx" ON "settlements" ("client_id", "status", (coalesce("first_claimed_at", "created_at")), "id")
  WHERE "status" <> 'settled';
