-- Transactions of third parties, too. A statement alone, so that it stops no writer.
CREATE INDEX CONCURRENTLY "settlements_hash_idx" ON "settlements" ((hashtextextended("transaction_hash", 0))) WHERE "status" IN ('settled', 'failed', 'reversed');
