-- Settlements in the last blocks: the reorg monitor asks every few seconds which of them other parties' transactions settled. A
-- statement alone, so that it stops no writer.
CREATE INDEX CONCURRENTLY "settlements_settled_block_idx" ON "settlements" ("network", "block_number") WHERE "status" = 'settled';
