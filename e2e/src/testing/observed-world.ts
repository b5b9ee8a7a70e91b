import { fundWallet } from '@tollgate/devnet'
import { Wallet, type HDNodeWallet } from 'ethers'
import { tokenAt } from './chain'
import { openLedgerQueries, type LedgerQueries } from './ledger-queries'
import { startWorld, type World } from './world'

/** USDC of a new payer. */
export const BUDGET = 1_000_000n

export type ObservedWorld = World & {
  /** On the chain. */
  token: ReturnType<typeof tokenAt>
  ledger: LedgerQueries
  /** A new wallet that holds `BUDGET` and has not signed in. */
  newPayer: () => Promise<HDNodeWallet>
  /** As the gateway answers. */
  creditsOf: (address: string) => Promise<unknown>
}

/** A world of which the tests read the token and the gateway's ledger. `stop` rejects if the ledger is inconsistent. */
export async function startObservedWorld(
  options: Parameters<typeof startWorld>[0] = {},
): Promise<ObservedWorld> {
  const world = await startWorld(options)
  const { gateway, infrastructure } = world
  const token = tokenAt(infrastructure.rpcUrl)
  const ledger = openLedgerQueries(infrastructure.postgres.gateway)
  return {
    ...world,
    token,
    ledger,
    async newPayer() {
      const wallet = Wallet.createRandom()
      await fundWallet(infrastructure.rpcUrl, wallet.address, { usdc: BUDGET })
      return wallet
    },
    creditsOf: async (address) => (await fetch(`${gateway.url}/credits/${address}`)).json(),
    async stop() {
      try {
        const broken = await ledger.broken()
        if (broken.length > 0) throw new Error(`The gateway's ledger has ${broken.join(', ')}`)
      } finally {
        await ledger.close()
        token.close()
        await world.stop()
      }
    },
  }
}
