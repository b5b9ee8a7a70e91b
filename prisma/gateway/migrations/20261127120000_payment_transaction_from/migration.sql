-- Null if the facilitator named the transaction; `operator`, or `operator_shared` if it is known to hold a transfer for each payment.
ALTER TABLE "payments" ADD COLUMN "transaction_from" TEXT;
