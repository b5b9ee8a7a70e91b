-- What was sent in vain, few among very many: by payer.
CREATE INDEX "settlements_in_vain_idx" ON "settlements" ("network", "payer") WHERE "attempts" > 0 AND "status" <> 'settled';
CREATE INDEX "charges_settlement_id_idx" ON "charges" ("settlement_id");

-- What a reorg reversed is on its way again, and spoken for in its payer's balance.
DROP INDEX "settlements_on_their_way_idx";
CREATE INDEX "settlements_on_their_way_idx" ON "settlements" ("network", "asset", "payer") WHERE "status" IN ('signed', 'reversed');

-- A nonce that went to another's transaction is free again where a reorg drops that one.
DROP INDEX "transactions_network_signer_nonce_key";
CREATE UNIQUE INDEX "transactions_nonce_key" ON "transactions" ("network", "signer", "nonce") WHERE "status" <> 'lost';
