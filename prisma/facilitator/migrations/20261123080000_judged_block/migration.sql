-- The block of the node that found a payment good when it was claimed: what is mined up to it and pays was moved there by a reorg since.
-- Null of older claims, for which what is mined up to seen_block does not count, as before.
ALTER TABLE "settlements" ADD COLUMN "judged_block" BIGINT;
