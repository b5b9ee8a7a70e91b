-- AlterTable
ALTER TABLE "payments" ADD COLUMN     "asked_at" TIMESTAMPTZ(3);
