-- Settlements of a client key by payer, and in the next migrations by other values: without those that are pending, so that a
-- settlement enters each index once. Hashes, so that entries are short. A statement alone, so that it stops no writer.
CREATE INDEX CONCURRENTLY "settlements_payer_idx" ON "settlements" ((hashtextextended("client_id" || ' ' || "payer", 0)), (coalesce("first_claimed_at", "created_at")), "id")
  WHERE "status" IN ('settled', 'failed', 'reversed');
