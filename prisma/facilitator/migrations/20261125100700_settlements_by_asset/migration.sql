-- A statement alone, so that it stops no writer.
CREATE INDEX CONCURRENTLY "settlements_asset_idx"
  ON "settlements" ((hashtextextended("client_id" || ' ' || "network" || ' ' || "asset", 0)), (coalesce("first_claimed_at", "created_at")), "id") WHERE "status" IN ('settled', 'failed', 'reversed');
