-- How many deliveries an owner has replayed in the hour that began at `since`.
CREATE TABLE "webhook_replays" (
    "owner" TEXT NOT NULL,
    "since" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "deliveries" INTEGER NOT NULL DEFAULT 0,

    CONSTRAINT "webhook_replays_pkey" PRIMARY KEY ("owner")
);
