-- AlterTable
ALTER TABLE "providers" ADD COLUMN     "not_served" TEXT[] DEFAULT ARRAY[]::TEXT[];

-- AlterTable
ALTER TABLE "refresh_tokens" ADD COLUMN     "next_hash" BYTEA;
