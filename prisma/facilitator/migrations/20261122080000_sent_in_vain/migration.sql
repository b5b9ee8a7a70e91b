-- What was sent in vain, few among very many: by payer.
CREATE INDEX "settlements_in_vain_idx" ON "settlements" ("network", "payer") WHERE "attempts" > 0 AND "status" <> 'settled';
