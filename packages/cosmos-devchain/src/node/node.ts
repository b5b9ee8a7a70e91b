import { type AddressInfo } from 'node:net'
import { balanceOf } from '../app/bank'
import { developmentCosmosSigner, developmentCosmosWallets } from '../wallets'
import { createChain } from './chain'
import { createChainMethods } from './chain-methods'
import { FEE_DENOM } from './fee-denom'
import { createDevMethods } from './dev-methods'
import { createBlockProducer } from './block-producer'
import { createRpcServer } from './server'
import { createTxMethods } from './tx-methods'

/** 10,000 ATOM each. */
const WALLET_AMOUNT = 10_000n * 10n ** 6n
const USUAL_BLOCK_SECONDS = 1
/** Longer than clients keep connections, so that no client reuses one that the server is closing. */
const KEEP_ALIVE_MS = 65_000

export type NodeOptions = {
  chainId: string
  /** Keeps the chain between starts. */
  folder: string
  /** 0 selects a free port. */
  port: number
  /** Returned by `dev_info`, to tell several nodes apart. */
  instance: string
  /** Creates blocks at this interval only. */
  blockSeconds?: number | undefined
}

/** Starts the chain with its JSON-RPC server on 127.0.0.1. Rejects if the port is in use. */
export async function startNode({ chainId, folder, port: wanted, instance, blockSeconds }: NodeOptions) {
  const wallets = [...developmentCosmosWallets, developmentCosmosSigner].map(({ address }) => address)
  const chain = createChain({
    chainId,
    folder,
    genesis: wallets.map((address) => ({
      address,
      coins: [{ denom: FEE_DENOM, amount: WALLET_AMOUNT }],
    })),
  })
  for (const address of wallets) {
    const held = balanceOf(chain.store, address, FEE_DENOM)
    if (held < WALLET_AMOUNT / 10n) chain.fund(address, [{ denom: FEE_DENOM, amount: WALLET_AMOUNT - held }])
  }
  // The block time is current from the first response on.
  chain.mine()
  if (chain.restored !== 'new') chain.restart()

  const blockProducer = createBlockProducer(chain, {
    pace: blockSeconds === undefined ? 'at-once' : 'by-interval',
    seconds: blockSeconds ?? USUAL_BLOCK_SECONDS,
  })
  const server = createRpcServer({
    ...createChainMethods(chain, `tcp://127.0.0.1:${wanted}`),
    ...createTxMethods(chain, blockProducer),
    ...createDevMethods(chain, blockProducer, instance),
  })
  server.keepAliveTimeout = KEEP_ALIVE_MS

  async function stop() {
    blockProducer.stop()
    server.closeAllConnections()
    if (server.listening) await new Promise((resolve) => server.close(resolve))
    chain.close()
  }

  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(wanted, '127.0.0.1', resolve)
    })
  } catch (problem) {
    await stop()
    throw problem
  }
  const { port } = server.address() as AddressInfo
  return { chain, port, rpcUrl: `http://127.0.0.1:${port}`, stop }
}
