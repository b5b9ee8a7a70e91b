-- What the facilitator says of a refusal in words, to be passed on to the payer: it decides nothing.
ALTER TABLE "payments" ADD COLUMN "error_detail" TEXT;
