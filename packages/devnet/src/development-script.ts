import { COSMOS_CHAIN_ID, developmentCosmosWallets } from '@tollgate/cosmos-devchain'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { developmentWallets } from './evm/wallets'
import { type State } from './state'

type Networks = { evmChainId: string; cosmosPrefix: string }

/**
 * DEVELOPMENT ONLY: the script that puts two funded wallets into the pages of the gateway's console. Undefined if the console is not
 * built.
 */
export function writeDevelopmentScript(
  root: string,
  state: State,
  { evmChainId, cosmosPrefix }: Networks,
): string | undefined {
  const built = join(root, 'apps/console/dist/development/wallets.js')
  const evm = developmentWallets.at(-1)
  const cosmos = developmentCosmosWallets.at(-1)
  if (!evm || !cosmos || !existsSync(built)) return undefined
  const keys = {
    evm: { privateKey: evm.privateKey, chainId: evmChainId },
    cosmos: { privateKey: cosmos.privateKey, prefix: cosmosPrefix, chainId: COSMOS_CHAIN_ID },
  }
  const script = `const developmentKeys = ${JSON.stringify(keys)};\n${readFileSync(built, 'utf8')}`
  return state.write('console-wallets.js', script)
}
