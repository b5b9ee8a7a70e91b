-- A payment whose money was moved otherwise than it was signed waits for an operator.
ALTER TABLE "payments" DROP CONSTRAINT "payments_status_check",
  ADD CONSTRAINT "payments_status_check" CHECK ("status" IN ('received', 'settling', 'settled', 'credited', 'failed', 'disputed')) NOT VALID;
