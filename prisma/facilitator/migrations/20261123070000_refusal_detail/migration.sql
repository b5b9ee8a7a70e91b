-- Why a settlement failed, in words for whoever develops the payer's wallet: what they say decides nothing.
ALTER TABLE "settlements" ADD COLUMN "error_detail" TEXT;
