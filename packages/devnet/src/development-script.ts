import { COSMOS_CHAIN_ID, developmentCosmosWallets } from '@tollgate/cosmos-devchain'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { developmentWallets } from './evm/wallets'
import { type State } from './state'

const EVM_CHAIN_ID = '84532'
const COSMOS_PREFIX = 'cosmos'

/**
 * DEVELOPMENT ONLY: the script that puts two funded wallets into the pages of the gateway's console. Undefined if the console is not
 * built.
 */
export function writeDevelopmentScript(root: string, state: State): string | undefined {
  const built = join(root, 'apps/console/dist/development/wallets.js')
  const evm = developmentWallets.at(-1)
  const cosmos = developmentCosmosWallets.at(-1)
  if (!evm || !cosmos || !existsSync(built)) return undefined
  const keys = {
    evm: { privateKey: evm.privateKey, chainId: EVM_CHAIN_ID },
    cosmos: { privateKey: cosmos.privateKey, prefix: COSMOS_PREFIX, chainId: COSMOS_CHAIN_ID },
  }
  const script = `const developmentKeys = ${JSON.stringify(keys)};\n${readFileSync(built, 'utf8')}`
  return state.write('console-wallets.js', script)
}
