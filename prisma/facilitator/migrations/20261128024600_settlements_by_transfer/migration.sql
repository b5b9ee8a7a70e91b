-- A transfer pays for one settlement. A statement alone, so that it stops no writer.
CREATE UNIQUE INDEX CONCURRENTLY "settlements_transfer_key" ON "settlements" ("network", "transaction_hash", "asset", "payer", "transfer") WHERE "transfer" IS NOT NULL AND "status" <> 'failed';
