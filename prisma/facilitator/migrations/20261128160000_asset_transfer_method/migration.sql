-- x402's assetTransferMethod of an asset that takes no EIP-3009 authorizations: permit2. Null for all others.
ALTER TABLE "assets" ADD COLUMN "asset_transfer_method" TEXT;
