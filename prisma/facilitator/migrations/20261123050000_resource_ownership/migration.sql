-- A public name of each user that says nothing else about it: the registry shows it, and an origin names it to prove a registration.
ALTER TABLE "users" ADD COLUMN "handle" UUID NOT NULL DEFAULT gen_random_uuid();
CREATE UNIQUE INDEX "users_handle_key" ON "users"("handle");

-- Whether an origin names a user that registered resources of it, as its /.well-known/x402 last said.
CREATE TABLE "resource_origins" (
    "user_id" INTEGER NOT NULL,
    "origin" TEXT NOT NULL,
    "due_at" TIMESTAMPTZ(3),
    "attempted_at" TIMESTAMPTZ(3),
    "checked_at" TIMESTAMPTZ(3),
    "verified_at" TIMESTAMPTZ(3),
    "result" TEXT,

    CONSTRAINT "resource_origins_pkey" PRIMARY KEY ("user_id","origin")
);
CREATE INDEX "resource_origins_due_at_idx" ON "resource_origins"("due_at");
ALTER TABLE "resource_origins" ADD CONSTRAINT "resource_origins_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
