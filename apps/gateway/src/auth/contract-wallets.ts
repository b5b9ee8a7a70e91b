import { ChainUnavailable, families, type SignInProof } from '@tollgate/chains'
import { ApiError, type Logger } from '@tollgate/service'
import { type Catalog, type Plan } from '../catalog/catalog'

/** For each node that is asked. */
const NODE_TIMEOUT_MS = 3_000
/** Logins for which nodes are asked at the same time: whoever makes up signatures must not make us flood the nodes. */
const MAX_ASKING = 16

export type ContractWallets = ReturnType<typeof createContractWallets>

/**
 * Wallets that are contracts sign in by their contract's word (EIP-1271), given on the plan's own chain: on another chain
 * somebody else may own that address. One node of each provider of that chain is asked, and all that answer must say yes.
 */
export function createContractWallets({ catalog, logger }: { catalog: Catalog; logger: Logger }) {
  let asking = 0

  /**
   * `unknown` where nobody could be asked.
   *
   * @throws ApiError OVERLOADED where too many are being asked about already
   */
  return async (plan: Plan, proof: SignInProof): Promise<'yes' | 'no' | 'unknown'> => {
    const ask = families[plan.ecosystem]?.verifyContractSignIn
    if (!ask) return 'no'
    const providers = await catalog.providersOf(plan.ecosystem, plan.chainId)
    const rpcUrls = providers.flatMap(({ rpc }) => rpc.slice(0, 1))
    if (asking >= MAX_ASKING)
      throw new ApiError('OVERLOADED', 'Too many wallets are being looked up on chain just now; try again', {
        retryAfterSeconds: 1,
      })
    asking++
    try {
      const nodes = { name: plan.network, chainId: plan.chainId, rpcUrls, rpcTimeoutMs: NODE_TIMEOUT_MS }
      return (await ask(proof, nodes)) ? 'yes' : 'no'
    } catch (cause) {
      if (!(cause instanceof ChainUnavailable)) throw cause
      logger.warn('a wallet that may be a contract could not be asked', { wallet: proof.address, cause })
      return 'unknown'
    } finally {
      asking--
    }
  }
}
