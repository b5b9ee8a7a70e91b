-- A statement alone, so that it stops no writer.
CREATE INDEX CONCURRENTLY "refresh_tokens_expires_at_idx" ON "refresh_tokens"("expires_at");
