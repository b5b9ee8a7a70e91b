-- A page of discovery reads the resources of one x402 version in the order of their ids, and no others.
CREATE INDEX "resources_x402_version_id_idx" ON "resources"("x402_version", "id");
CREATE INDEX "cataloged_resources_x402_version_id_idx" ON "cataloged_resources"("x402_version", "id");
