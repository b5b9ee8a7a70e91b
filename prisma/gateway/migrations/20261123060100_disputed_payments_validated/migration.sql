-- Reads the table without stopping its writers.
ALTER TABLE "payments" VALIDATE CONSTRAINT "payments_status_check";
