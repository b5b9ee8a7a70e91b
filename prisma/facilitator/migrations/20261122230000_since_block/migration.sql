-- A block by which a payment was found good, or that of what was mined for it since: a node that is behind that does not have
-- it refused.
ALTER TABLE "settlements" ADD COLUMN "since_block" BIGINT NOT NULL DEFAULT 0;
