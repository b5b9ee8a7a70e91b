-- A resource that a settled payment declared (x402 `bazaar`), apart from those that users register.
CREATE TABLE "cataloged_resources" (
    "id" SERIAL NOT NULL,
    "user_id" INTEGER NOT NULL,
    "x402_version" INTEGER NOT NULL,
    "resource" TEXT NOT NULL,
    "origin" TEXT NOT NULL,
    "type" TEXT NOT NULL,
    "operation" TEXT NOT NULL,
    "pay_to" TEXT NOT NULL,
    "accepts" JSONB NOT NULL,
    "offers" TEXT[],
    "details" JSONB NOT NULL,
    "declared" JSONB NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "last_paid_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "cataloged_resources_pkey" PRIMARY KEY ("id")
);
CREATE UNIQUE INDEX "cataloged_resources_key" ON "cataloged_resources"("user_id", "x402_version", "resource", "type", "operation", "pay_to");
CREATE INDEX "cataloged_resources_pay_to_idx" ON "cataloged_resources"("pay_to");
CREATE INDEX "cataloged_resources_user_id_last_paid_at_idx" ON "cataloged_resources"("user_id", "last_paid_at");
CREATE INDEX "cataloged_resources_last_paid_at_idx" ON "cataloged_resources"("last_paid_at");
CREATE INDEX "resource_origins_origin_idx" ON "resource_origins"("origin");
CREATE INDEX "resources_accepts_idx" ON "resources" USING GIN ("accepts" jsonb_path_ops);
ALTER TABLE "cataloged_resources" ADD CONSTRAINT "cataloged_resources_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- What a schema file cannot say.
ALTER TABLE "cataloged_resources"
  ADD CONSTRAINT "cataloged_resources_x402_version_check" CHECK ("x402_version" IN (1, 2)),
  ADD CONSTRAINT "cataloged_resources_type_check" CHECK ("type" IN ('http', 'mcp')),
  ADD CONSTRAINT "cataloged_resources_accepts_check" CHECK (
    jsonb_typeof("accepts") = 'array' AND jsonb_array_length("accepts") BETWEEN 1 AND 16
    AND cardinality("offers") = jsonb_array_length("accepts"));

-- The words by which a resource is found: of its URL, and of what is said about it.
CREATE FUNCTION "discovery_words"("resource" TEXT, "details" JSONB, "more" TEXT) RETURNS TSVECTOR
  LANGUAGE SQL IMMUTABLE PARALLEL SAFE
  RETURN to_tsvector('english'::regconfig,
    regexp_replace("resource", '[^A-Za-z0-9]+', ' ', 'g') || ' ' || coalesce("details" ->> 'description', '')
      || ' ' || coalesce("details" ->> 'serviceName', '') || ' ' || coalesce("details" ->> 'tags', '') || ' ' || "more");
CREATE INDEX "resources_words_idx" ON "resources" USING GIN ("discovery_words"("resource", "metadata", ''));
CREATE INDEX "cataloged_resources_words_idx" ON "cataloged_resources"
  USING GIN ("discovery_words"("resource", "details", "operation" || ' ' || coalesce("declared" #>> '{info,input,description}', '')));

-- Finds what a user registered, so that the list does not have it again from payments. A URL may be longer than an index entry.
CREATE INDEX "resources_user_id_resource_idx" ON "resources" ("user_id", md5("resource"));
