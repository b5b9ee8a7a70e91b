-- Assets that were registered before there was a minimum amount take any amount, as they did.
UPDATE "assets" SET "min_amount" = 1 WHERE "min_amount" IS NULL;
