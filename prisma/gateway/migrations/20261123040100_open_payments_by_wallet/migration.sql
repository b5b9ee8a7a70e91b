-- Payments whose outcome is not known, by wallet. A statement alone, so that it stops no writer.
CREATE INDEX CONCURRENTLY "payments_open_wallet_idx" ON "payments" ("wallet", "pricing_plan_id") WHERE "status" IN ('received', 'settling', 'settled');
