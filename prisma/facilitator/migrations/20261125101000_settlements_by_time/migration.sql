-- For admins, who see the settlements of all users. A statement alone, so that it stops no writer.
CREATE INDEX CONCURRENTLY "settlements_time_idx" ON "settlements" ((coalesce("first_claimed_at", "created_at")), "id")
  WHERE "status" IN ('settled', 'failed', 'reversed');
