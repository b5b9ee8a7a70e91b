import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { COUNTED_CHAIN } from './callers'
import { until } from './paying'
import { root, type World } from './world'

export type Plan = World['plan'] | World['cosmosPlan']

/**
 * Replaces the catalog's plans by those of a test, and sends calls to `COUNTED_CHAIN` to `upstreamUrl`; other
 * chains and the world's own plans stay. Resolves once the world's gateway uses it; its other gateways do within a second.
 */
export async function applyCatalog(
  world: World,
  { plans, upstreamUrl }: { plans: Plan[]; upstreamUrl: string },
) {
  const { infrastructure, plan, cosmosPlan, folder } = world
  const provider = (
    provider_id: string,
    { ecosystem: category, chain_id }: Pick<Plan, 'ecosystem' | 'chain_id'>,
    rpc: string,
  ) => ({ provider_id, category, chain_id, rpc: [rpc] })
  const file = join(folder, 'own-catalog.yaml')
  // JSON is valid YAML.
  const catalog = {
    plans: [plan, cosmosPlan, ...plans],
    providers: [
      provider('devnet', plan, infrastructure.rpcUrl),
      provider('devnet-cosmos', cosmosPlan, infrastructure.cosmos.rpcUrl),
      provider('counting', { ecosystem: 'evm', chain_id: COUNTED_CHAIN }, upstreamUrl),
    ],
  }
  writeFileSync(file, JSON.stringify(catalog))
  const command = join(root, 'apps/gateway/bin/gateway.js')
  await promisify(execFile)(process.execPath, [command, 'catalog', 'apply', file], {
    env: { ...process.env, DATABASE_URL: infrastructure.postgres.gateway },
    timeout: 60_000,
  })
  const get = async (path: string): Promise<unknown> => (await fetch(`${world.gateway.url}${path}`)).json()
  await until(
    async () => outlineOf((await get('/pricing')) as Plan[], JSON.stringify(await get('/providers'))),
    (used) => used === outlineOf(catalog.plans, upstreamUrl),
  )

  function outlineOf(sold: Plan[], providers: string) {
    const terms = sold.map(({ id, network, amount, credits }) => [id, network, amount, credits])
    return JSON.stringify([terms, providers.includes(upstreamUrl)])
  }
}
