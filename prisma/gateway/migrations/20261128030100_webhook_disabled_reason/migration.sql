-- Why the service itself stopped sending to the endpoint; null if its owner did, or if it is active.
ALTER TABLE "webhook_endpoints" ADD COLUMN "disabled_reason" TEXT;
