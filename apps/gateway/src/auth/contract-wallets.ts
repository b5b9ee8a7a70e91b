import { ChainUnavailable, families, type SignInProof } from '@tollgate/chains'
import { createBudget, createLimiter, type EphemeralStore, type Logger } from '@tollgate/service'
import { type Catalog, type Plan } from '../catalog/catalog'
import { createCheckRoom } from './check-room'
import { NONCE_TTL_SECONDS } from './nonces'

const NODE_TIMEOUT_MS = 3_000
/** Bounds on the load that forged signatures can put on the nodes. */
const MAX_CHECKS_PER_CHALLENGE = 3
/** The signature is wrong or the nonce is: the answer says which, for a few. */
const MAX_CHECKS_WITHOUT_CHALLENGE_A_MINUTE = 30
const MAX_CHECKS_PER_ADDRESS_A_MINUTE = 240

/** `address` of the client, and the nonce of the text that it sent, if that is live. */
export type ProofSource = { address: string; nonce: string | undefined }

export type ContractWallets = ReturnType<typeof createContractWallets>

/**
 * Verifies the sign-in of a contract wallet (EIP-1271) on the plan's chain: on another chain a different
 * owner may have the address. Queries one node of each provider; all that respond must accept.
 */
export function createContractWallets({
  catalog,
  store,
  logger,
}: {
  catalog: Catalog
  store: EphemeralStore
  logger: Logger
}) {
  const limits = { store, logger, durationSeconds: 60 }
  const takeCheck = createBudget({
    ...limits,
    name: 'contract-checks-challenge',
    points: MAX_CHECKS_PER_CHALLENGE,
    durationSeconds: NONCE_TTL_SECONDS,
  })
  const takeWithoutChallenge = createBudget({
    ...limits,
    name: 'contract-checks-unissued',
    points: MAX_CHECKS_WITHOUT_CHALLENGE_A_MINUTE,
  })
  const limitAddress = createLimiter({
    ...limits,
    name: 'contract-checks-address',
    points: MAX_CHECKS_PER_ADDRESS_A_MINUTE,
  })
  const room = createCheckRoom()

  /**
   * `used-up`: the challenge was checked as often as it may be. `unknown`: no node responded.
   *
   * @throws ApiError RATE_LIMITED, OVERLOADED
   */
  return async (
    plan: Plan,
    proof: SignInProof,
    { address, nonce }: ProofSource,
  ): Promise<'yes' | 'no' | 'unknown' | 'used-up'> => {
    const verify = families[plan.ecosystem]?.verifyContractSignIn
    if (!verify) return 'no'
    const mayCheck = await (nonce === undefined ? takeWithoutChallenge(address) : takeCheck(nonce))
    if (!mayCheck) return 'used-up'
    await limitAddress(address)
    const providers = await catalog.findProviders(plan.ecosystem, plan.chainId)
    const nodes = providers.flatMap(({ rpc, headers }) =>
      rpc.slice(0, 1).map(({ url }) => ({ url, headers })),
    )
    const leave = await room.enter(address)
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
      leave()
    }
  }
}
