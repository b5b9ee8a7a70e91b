-- Few among very many. A statement alone, so that it stops no writer.
CREATE INDEX CONCURRENTLY "payments_reversed_idx" ON "payments"("reversed_at") WHERE "reversed_at" IS NOT NULL;
