-- Settlements that are reversed for good: few among very many, which the operator's pages list and count. A statement alone, so that
-- it stops no writer. It has no column that a later update of a row changes.
CREATE INDEX CONCURRENTLY "settlements_reversed_final_idx" ON "settlements" ("id") WHERE "status" = 'reversed' AND "error_reason" IS NOT NULL;
