import { developmentCosmosWallets } from '@tollgate/cosmos-devchain'
import { deploySmartWallet, developmentWallets, fundWallet } from '@tollgate/devnet'
import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { root, startWorld, walletAt, type World } from '../testing/world'
import { describeDocument } from './trial'

let wallets = 0
const sdkWallet = walletAt(developmentWallets.length - 1)

describeDocument('docs/api/gateway.md', ['bash', 'ts'], async (closeLater) => {
  const world = await startWorld()
  closeLater(() => world.stop())
  const rest = await startRestProvider()
  closeLater(() => rest.close())
  await addToCatalog(world, rest)
  const { rpcUrl } = world.infrastructure
  const { privateKey, address } = walletAt(0)
  const [cosmosWallet] = developmentCosmosWallets
  if (!cosmosWallet) throw new Error('the development chain has no wallets')
  const smartWallet = await deploySmartWallet(rpcUrl, address)
  await fundWallet(rpcUrl, smartWallet, { usdc: BigInt(world.plan.amount) })
  return {
    serviceUrl: world.gateway.url,
    variables: (url) => ({
      GATEWAY: url,
      PRIVATE_KEY: privateKey,
      SMART_WALLET: smartWallet,
      COSMOS_RPC: world.infrastructure.cosmos.rpcUrl,
      COSMOS_KEY: cosmosWallet.privateKey,
    }),
    // A program that pays by itself gets a wallet without credits; those with the SDK share one, and sign in for the gateway's own host.
    variablesOf: ({ text }) =>
      text.includes("from '@tollgate/wallet'")
        ? { GATEWAY: world.gateway.url, PRIVATE_KEY: sdkWallet.privateKey }
        : /from '(\.\/pay\.js|x402-fetch)'/.test(text) && !text.includes('SMART_WALLET')
          ? { PRIVATE_KEY: walletAt(++wallets).privateKey }
          : {},
  }
})

/** The development network has no REST provider: this one serves the supply of one coin. */
async function startRestProvider(): Promise<Server> {
  const server = createServer((req, res) => {
    const isKnown = req.url === '/cosmos/bank/v1beta1/supply/by_denom?denom=uosmo'
    res.writeHead(isKnown ? 200 : 404, { 'content-type': 'application/json' })
    res.end(isKnown ? '{"amount":{"denom":"uosmo","amount":"687433061120203"}}' : '{"code":5}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return server
}

async function addToCatalog(world: World, rest: Server) {
  const file = join(world.folder, 'catalog.yaml')
  const catalog = JSON.parse(readFileSync(file, 'utf8')) as { providers: object[] }
  catalog.providers.push({
    provider_id: 'osmosis',
    category: 'cosmos',
    chain_id: 'osmosis-1',
    rest: [`http://127.0.0.1:${(rest.address() as AddressInfo).port}`],
    description: 'Osmosis',
  })
  writeFileSync(file, JSON.stringify(catalog))
  const command = [join(root, 'apps/gateway/bin/gateway.js'), 'catalog', 'apply', file]
  await promisify(execFile)(process.execPath, command, {
    env: { ...process.env, DATABASE_URL: world.infrastructure.postgres.gateway },
    timeout: 30_000,
  })
}
