-- A statement alone, so that it stops no writer.
CREATE INDEX CONCURRENTLY "payments_disputed_idx" ON "payments"("wallet", "pricing_plan_id") WHERE "status" = 'disputed';
