import { readFileSync } from 'node:fs'
import { join } from 'node:path'

export type Artifact = {
  /** One Solidity signature for each function, event and error. */
  abi: string[]
  bytecode: string
  deployedBytecode: string
}

export const CONTRACTS_FOLDER = join(__dirname, '../../contracts')
export const ARTIFACTS_FILE = join(CONTRACTS_FOLDER, 'artifacts.json')

/** The output of `pnpm --filter @tollgate/devnet run contracts`. */
export function readArtifacts() {
  return JSON.parse(readFileSync(ARTIFACTS_FILE, 'utf8')) as Record<
    | 'USDC'
    | 'Multicall3'
    | 'Permit2'
    | 'X402ExactPermit2Proxy'
    | 'SmartWallet'
    | 'CoinbaseSmartWalletFactory'
    | 'FaultyToken'
    | 'PlainToken'
    | 'TokenProxy',
    Artifact
  >
}
