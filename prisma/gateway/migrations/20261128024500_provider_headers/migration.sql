-- Headers for the upstreams of a provider. They hold references to secrets, never a secret.
ALTER TABLE "providers" ADD COLUMN "headers" JSONB NOT NULL DEFAULT '{}';
