-- A block by which a payment was found good or paid, or that of what was mined for it since: a node that is behind that does not have
-- it refused.
ALTER TABLE "settlements" ADD COLUMN "since_block" BIGINT NOT NULL DEFAULT 0;

UPDATE "settlements" s SET "since_block" = b."block_number"
FROM (
  SELECT c."settlement_id", max(t."block_number") AS "block_number" FROM "charges" c JOIN "transactions" t ON t."id" = c."transaction_id"
  WHERE t."is_first" AND t."block_number" IS NOT NULL GROUP BY c."settlement_id"
) b
WHERE b."settlement_id" = s."id" AND s."status" IN ('claimed', 'signed');
