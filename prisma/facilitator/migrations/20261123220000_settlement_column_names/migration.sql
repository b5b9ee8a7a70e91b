-- Names only: no value changes. The release before this one cannot run beside it.

-- It locks one table, so a signing round of the release before that still runs cannot deadlock with it.
ALTER TABLE "settlements" RENAME COLUMN "retry_at" TO "retry_requested_at";
ALTER TABLE "settlements" RENAME COLUMN "judged_block" TO "unspent_at_block";
