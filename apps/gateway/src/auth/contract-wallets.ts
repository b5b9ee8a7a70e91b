import { ChainUnavailable, families, type SignInProof } from '@tollgate/chains'
import { ApiError, type Logger } from '@tollgate/service'
import { type Catalog, type Plan } from '../catalog/catalog'

const NODE_TIMEOUT_MS = 3_000
/** Bounds the load that forged signatures can put on the nodes. */
const MAX_CONCURRENT_CHECKS = 16

export type ContractWallets = ReturnType<typeof createContractWallets>

/**
 * Verifies the sign-in of a contract wallet (EIP-1271) on the plan's chain: on another chain a different
 * owner may have the address. Queries one node of each provider; all that respond must accept.
 */
export function createContractWallets({ catalog, logger }: { catalog: Catalog; logger: Logger }) {
  let activeChecks = 0

  /** `unknown`: no node responded. @throws ApiError OVERLOADED */
  return async (plan: Plan, proof: SignInProof): Promise<'yes' | 'no' | 'unknown'> => {
    const verify = families[plan.ecosystem]?.verifyContractSignIn
    if (!verify) return 'no'
    const providers = await catalog.findProviders(plan.ecosystem, plan.chainId)
    const nodes = providers.flatMap(({ rpc, headers }) =>
      rpc.slice(0, 1).map(({ url }) => ({ url, headers })),
    )
    if (activeChecks >= MAX_CONCURRENT_CHECKS)
      throw new ApiError('OVERLOADED', 'Too many contract wallets are being verified; try again', {
        retryAfterSeconds: 1,
      })
    activeChecks++
    try {
      const network = {
        name: plan.network,
        chainId: plan.chainId,
        rpcUrls: nodes.map(({ url }) => url),
        rpcHeaders: nodes.map(({ headers }) => headers),
        rpcTimeoutMs: NODE_TIMEOUT_MS,
      }
      return (await verify(proof, network)) ? 'yes' : 'no'
    } catch (cause) {
      if (!(cause instanceof ChainUnavailable)) throw cause
      logger.warn('contract wallet check failed', { wallet: proof.address, cause })
      return 'unknown'
    } finally {
      activeChecks--
    }
  }
}
