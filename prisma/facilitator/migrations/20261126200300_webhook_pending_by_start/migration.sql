-- The oldest pending deliveries of an endpoint: what is given up, and the age of the backlog.
CREATE INDEX CONCURRENTLY "webhook_deliveries_started_idx" ON "webhook_deliveries" ("endpoint_id", "started_at") WHERE "state" = 'pending';
