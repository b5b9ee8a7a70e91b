import { join } from 'node:path'
import { onFreePort, startProcess } from '@tollgate/processes'

export type SdkChainOptions = {
  program: string
  /** Keeps the chain between starts. */
  home: string
  chainId: string
  /** Genesis accounts in the order of their numbers; used at the first start only. */
  accounts: readonly { address: string; coins: string }[]
  /** Between two blocks, and between a start and its first block. */
  blockSeconds: number
  /** Whether the node answers Simulate: gRPC or REST is on. */
  services?: boolean
}

/** Starts the chain of the Cosmos SDK's own modules on 127.0.0.1. */
export async function startSdkChain(options: SdkChainOptions) {
  const { program, home, chainId, accounts, blockSeconds, services = true } = options
  const args = [
    `--home=${home}`,
    `--chain-id=${chainId}`,
    `--block-seconds=${blockSeconds}`,
    `--services=${services}`,
    ...accounts.map(({ address, coins }) => `--account=${address}=${coins}`),
  ]
  return onFreePort(undefined, async (port) => {
    const { stop } = await startProcess({
      name: 'sdk-chain',
      command: program,
      args: [...args, `--port=${port}`],
      logFile: join(home, 'sdk-chain.log'),
      ready: /^ready$/m,
      stopSeconds: 10,
    })
    return { rpcUrl: `http://127.0.0.1:${port}`, stop }
  })
}
