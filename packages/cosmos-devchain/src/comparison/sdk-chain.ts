import { join } from 'node:path'
import { onFreePort, startProcess } from '@tollgate/processes'

export type SdkChainOptions = {
  program: string
  /** Holds the chain between starts. */
  home: string
  chainId: string
  /** Of the genesis, in the order of their numbers: it counts at the first start only. */
  accounts: readonly { address: string; coins: string }[]
  /** Between a block and the next, and before the first after a start. */
  blockSeconds: number
  /** Whether the node answers Simulate, GetTx and Config: gRPC or REST is on. */
  services?: boolean
}

/** The chain of the Cosmos SDK's own modules, on 127.0.0.1. */
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
