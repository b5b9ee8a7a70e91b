-- Test events that are pending: the subject of one is its message id.
CREATE INDEX CONCURRENTLY "webhook_deliveries_tests_idx" ON "webhook_deliveries" ("endpoint_id") WHERE "state" = 'pending' AND starts_with("subject", 'msg_');
