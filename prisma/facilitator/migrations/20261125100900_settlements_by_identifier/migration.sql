-- A statement alone, so that it stops no writer.
CREATE INDEX CONCURRENTLY "settlements_identifier_idx" ON "settlements" ("payment_identifier") WHERE "payment_identifier" IS NOT NULL;
