-- A refresh token is a session, which its user can see and end; access tokens name its id.
ALTER TABLE "refresh_tokens" ADD COLUMN "id" UUID NOT NULL DEFAULT gen_random_uuid(),
  ADD COLUMN "last_used_at" TIMESTAMPTZ(3),
  ADD COLUMN "user_agent" TEXT;
CREATE UNIQUE INDEX "refresh_tokens_id_key" ON "refresh_tokens"("id");
ALTER TABLE "refresh_tokens" ADD CONSTRAINT "refresh_tokens_user_agent_check" CHECK (char_length("user_agent") <= 200);

-- At most one for each user, so that a new one ends the one before.
CREATE TABLE "password_resets" (
    "user_id" INTEGER NOT NULL,
    "hash" BYTEA NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "password_resets_pkey" PRIMARY KEY ("user_id")
);
CREATE UNIQUE INDEX "password_resets_hash_key" ON "password_resets"("hash");
ALTER TABLE "password_resets" ADD CONSTRAINT "password_resets_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- A deleted account is a disabled one, so that the version before refuses it, too, and its operator cannot enable it.
ALTER TABLE "users" ADD COLUMN "deleted_at" TIMESTAMPTZ(3);
ALTER TABLE "users" ADD CONSTRAINT "users_deleted_at_check" CHECK ("deleted_at" IS NULL OR "disabled_at" IS NOT NULL);
