-- Settlements that hold their payload, which the retention job drops. A statement alone, so that it stops no writer.
CREATE INDEX CONCURRENTLY "settlements_payload_idx" ON "settlements" ("ended_at") WHERE "ended_at" IS NOT NULL AND "payload" <> '{}';
