import { firstRefusal, dependsOnState } from '../checks'
import { RpcUrls } from '../configuration'
import type { Chain, ChainQueries, NetworkSettings } from '../family'
import { createFurthestNodeRetry } from '../furthest-node'
import type { Signer } from '../signers/signer'
import { broadcast } from './settlement/broadcast'
import { termsChecks } from './transfer-methods/bank-send/checks'
import { isSequenceSpent, isSpentAt, sequenceOf } from './observation/confirmations'
import { findTransfer, paymentStatus } from './observation/payment-status'
import { holdsPayersSignature, moveCountersigned, prepareCountersigned } from './settlement/countersign'
import { signDirect } from './settlement/feegrant/grant-transaction'
import { prepareGrants, replaceGrants } from './settlement/feegrant/prepare-grants'
import { batches, sponsorship } from './settlement/feegrant/sponsorship'
import { feeFor } from './settlement/fees'
import { fillNonce } from './settlement/fill-nonce'
import { includes, transactionStatus } from './observation/transaction-status'
import { keySigner } from './signing/key-signer'
import type { CosmosNetwork, CosmosSettings } from './network'
import type { CosmosPayment } from './transfer-methods/bank-send/payment'
import { createRpc, type NodesRpc } from './rpc'
import { validateToken } from './tokens/token-validation'
import { verify } from './transfer-methods/bank-send/verify'

/** The ids that CometBFT, a URL and CAIP-2 all allow. */
export const isChainId = (text: string): boolean => /^[A-Za-z0-9][A-Za-z0-9._-]{0,49}$/.test(text)

function checkSettings({
  name,
  chainId,
  rpcUrls,
  signerKeys,
  remoteSigners,
  gaslessMaxFee,
  maxFeesPerDay,
}: NetworkSettings & CosmosSettings): void {
  if (!isChainId(chainId)) throw new Error(`${name}: ${chainId} is not a chain id such as cosmoshub-4`)
  if (!RpcUrls.safeParse(rpcUrls).success)
    throw new Error(`${name}: give at least one RPC URL, each http:// or https://`)
  if (remoteSigners !== undefined)
    throw new Error(`${name}: a remote signer cannot sign SHA-256 digests; give a signer key`)
  if (signerKeys.length > 1)
    throw new Error(
      `${name}: give at most one signer key, because clients name one account as their fee granter`,
    )
  if (gaslessMaxFee === undefined) return
  if (signerKeys.length === 0)
    throw new Error(`${name}: give a signer key, whose account pays the fees of payments`)
  if (maxFeesPerDay === undefined)
    throw new Error(`${name}: set the maximum fees that the facilitator pays in a day`)
}

/** CometBFT blocks are final. */
const REORG_DEPTH = 0n

const CANNOT_SIMULATE = 'cannot simulate transactions: turn its gRPC or its REST server on'

/** The default low-balance threshold covers the fees of this many payments. */
const THRESHOLD_PAYMENTS = 100n

/** A Cosmos network over CometBFT JSON-RPC. Throws if the settings are invalid. */
export function createChain({
  signerKeys,
  remoteSigners,
  ...settings
}: NetworkSettings & CosmosSettings): Chain<CosmosPayment> {
  checkSettings({ signerKeys, ...(remoteSigners && { remoteSigners }), ...settings })
  const { name, ecosystem, chainId, prefix, feeDenom, gasPrice, gaslessMaxFee, maxGas } = settings
  const [own] = signerKeys.map((text) => keySigner(text, prefix))
  const signer = own?.address
  const nodes = createRpc(settings)
  const networkOver = (rpc: NodesRpc): CosmosNetwork => ({ ...settings, rpc, signer: signer ?? '' })

  function signerOf(address: string): Signer {
    if (own === undefined || address !== signer)
      throw new Error(`${address} is not a signer of ${name}: use one of ChainSigner.addresses`)
    return own
  }

  function queriesOver(rpc: NodesRpc): ChainQueries<CosmosPayment> {
    const network = networkOver(rpc)
    const retryOnFurthestNode = createFurthestNodeRetry(network, rpc)
    return {
      node: {
        async head() {
          const { number, timestamp } = await rpc.newestBlock()
          return { number, timestamp: Number(timestamp) }
        },
        heights: () => nodes.heights(),
        inspect: () => nodes.inspect(),
        async check() {
          const canSimulate = await nodes.canSimulate()
          return {
            problems: canSimulate.flatMap((can, i) =>
              can === false ? [`node ${i + 1} ${CANNOT_SIMULATE}`] : [],
            ),
            isUsable: canSimulate.some((can) => can !== false),
          }
        },
        reorgDepth: REORG_DEPTH,
        includes: (block) => includes(network, block),
        broadcast: (transaction) => broadcast(network, transaction),
        transactionStatus: (hash) => transactionStatus(network, hash),
      },

      signer: {
        addresses: signer === undefined ? [] : [signer],
        feePayer: gaslessMaxFee === undefined ? undefined : signer,
        ...(gaslessMaxFee !== undefined && { signsForPayers: true as const }),
        balanceThreshold:
          gaslessMaxFee === undefined ? 0n : THRESHOLD_PAYMENTS * (gaslessMaxFee + feeFor(maxGas, gasPrice)),
        currency: { symbol: feeDenom, decimals: 0 },
        funds: (address) => rpc.balance(address, feeDenom),
        nextNonce: async (address) => sequenceOf(await rpc.account(address)),
        isAvailable: () => Promise.resolve(true),
        findProblem: () => Promise.resolve(undefined),
        isNonceSpent: (address, nonce) => isSequenceSpent(network, address, nonce),
        async prepare(batch, from) {
          const [first, ...others] = batch
          const by = signerOf(from.signer)
          return first?.payment.countersigned && others.length === 0
            ? prepareCountersigned(network, by, [first], from)
            : prepareGrants(network, by, batch, from)
        },
        sign: async (transaction) => ({
          ...(await signDirect(transaction, signerOf(transaction.signer))),
          cost: transaction.cost,
        }),
        async replace(transaction, from) {
          const by = signerOf(from.signer)
          return holdsPayersSignature(transaction, by) ? undefined : replaceGrants(network, by, transaction)
        },
        moveTo: async (transaction, to) =>
          moveCountersigned(network, signerOf(to.signer), transaction, to.nonce),
        fill: (at) => fillNonce(network, signerOf(at.signer), at.nonce),
      },

      payments: {
        extensions: () => Promise.resolve([]),
        checkTerms: (terms) => firstRefusal(termsChecks, { terms, network }),
        verify: ({ payment, terms, reserved = 0n, minBlock = 0n }) =>
          retryOnFurthestNode(
            (on) => verify({ network: on, payment, terms, reserved, minBlock }),
            dependsOnState,
          ),
        ...(gaslessMaxFee === undefined
          ? {}
          : {
              sponsorship: (payment: CosmosPayment, minBlock = 0n) => sponsorship(network, payment, minBlock),
            }),
        batches: (pending) => Promise.resolve(batches(pending)),
        paymentStatus: ({ payment, terms, minBlock = 0n }) =>
          paymentStatus(network, payment, terms, minBlock),
        findTransfer: ({ payment, terms, minBlock = 0n }) => findTransfer(network, payment, terms, minBlock),
        isSpentAt: ({ payer, tx }, _terms, block) =>
          isSpentAt(network, payer, tx.signers[0]?.sequence ?? 0n, block),
        isSpentFinally: ({ payer, tx }) => isSequenceSpent(network, payer, tx.signers[0]?.sequence ?? 0n),
      },
    }
  }

  return {
    network: { name, ecosystem, chainId },
    ...queriesOver(nodes),
    observed: (observe) => queriesOver(nodes.observed(observe)),
    tokens: {
      validate: (wanted) => validateToken(networkOver(nodes), wanted),
    },

    close: () => nodes.close(),
  }
}
