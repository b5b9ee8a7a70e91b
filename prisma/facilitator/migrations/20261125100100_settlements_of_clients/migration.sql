-- Settlements of a client key, in the order of their pages. A statement alone, so that it stops no writer.
CREATE INDEX CONCURRENTLY "settlements_client_idx" ON "settlements" ("client_id", (coalesce("first_claimed_at", "created_at")), "id");
