import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { COUNTED_CHAIN } from './callers'
import { root, type World } from './world'

export type Plan = World['plan']

/**
 * Puts plans of a test's own in the place of the catalog, and sends the calls to `COUNTED_CHAIN` to `upstreamUrl`; the other
 * chain and the world's own plan stay. Gateways that run already know of it after a second.
 */
export async function applyCatalog(
  world: World,
  { plans, upstreamUrl }: { plans: Plan[]; upstreamUrl: string },
) {
  const { foundation, plan, folder } = world
  const provider = (provider_id: string, chain_id: string, rpc: string) => ({
    provider_id,
    category: plan.ecosystem,
    chain_id,
    rpc: [rpc],
  })
  const file = join(folder, 'own-catalog.yaml')
  // YAML, of which JSON is a part.
  const catalog = {
    plans: [plan, ...plans],
    providers: [
      provider('devnet', plan.chain_id, foundation.rpcUrl),
      provider('counting', COUNTED_CHAIN, upstreamUrl),
    ],
  }
  writeFileSync(file, JSON.stringify(catalog))
  const command = join(root, 'apps/gateway/bin/gateway.js')
  await promisify(execFile)(process.execPath, [command, 'catalog', 'apply', file], {
    env: { ...process.env, DATABASE_URL: foundation.postgres.gateway },
    timeout: 30_000,
  })
}
