import { firstRefusal, dependsOnState } from '../checks'
import { RpcUrls } from '../configuration'
import type { Chain, ChainQueries, NetworkSettings } from '../family'
import { createFurthestNodeRetry } from '../furthest-node'
import { createKeySigner } from '../signers/key-signer'
import { createRemoteSigners } from '../signers/remote-signer'
import type { Signer } from '../signers/signer'
import { Quantity } from './rpc-schemas'
import { evmScheme } from './signing/scheme'
import { batches } from './settlement/batches'
import { broadcast } from './settlement/broadcast'
import { termsChecks } from './transfer-methods/checks'
import { failsOnlyWhenMined } from './transfer-methods/eip3009/failure'
import { isNonceSpent, REORG_DEPTH } from './observation/confirmations'
import { includes, transactionStatus } from './observation/transaction-status'
import { createGasModel } from './settlement/gas-model'
import { createMulticallDetector } from './settlement/multicall'
import type { EvmNetwork, EvmSettings } from './network'
import { type EvmPayment, transferMethodOf } from './transfer-methods/payment'
import { createPermit2Detector } from './transfer-methods/permit2/contracts'
import { createRpc, type NodesRpc } from './rpc'
import { prepareBatch, replace } from './settlement/prepare-batch'
import { signTransaction } from './settlement/signed-transaction'
import { validateToken } from './tokens/token-validation'

/** An error names a wrong key by its position and never contains it. */
const keySigners = (signerKeys: readonly string[]): Signer[] =>
  signerKeys.map((text, i) => {
    try {
      return createKeySigner(text, evmScheme)
    } catch {
      throw new Error(`Signer key ${i + 1} is no private key: give 0x and 64 hex digits`)
    }
  })

function byAddress(name: string, signers: readonly Signer[]): ReadonlyMap<string, Signer> {
  const found = new Map(signers.map((signer) => [signer.address, signer]))
  if (found.size < signers.length) throw new Error(`${name}: two of the signers are the same account`)
  return found
}

/** An EIP-155 chain id in decimal digits. */
export const isChainId = (text: string): boolean => /^[1-9][0-9]{0,18}$/.test(text)

function checkSettings({ name, chainId, rpcUrls }: NetworkSettings): void {
  if (!isChainId(chainId)) throw new Error(`${name}: an EVM chain id is a number, not ${chainId}`)
  if (!RpcUrls.safeParse(rpcUrls).success)
    throw new Error(`${name}: give at least one RPC URL, each http:// or https://`)
}

/** EVM chains count their native currency in wei, whatever it is called. */
const WEI_DECIMALS = 18

/** In wei: about a hundred settlements at a low gas price. */
const BALANCE_THRESHOLD = 10n ** 16n

/** An EVM network over JSON-RPC. Throws if the settings are invalid. */
export function createChain({
  signerKeys,
  remoteSigners,
  ...settings
}: NetworkSettings & EvmSettings): Chain<EvmPayment> {
  checkSettings({ signerKeys, ...settings })
  const { name, ecosystem, chainId, maxGas } = settings
  const local = keySigners(signerKeys)
  const remote = remoteSigners && createRemoteSigners(remoteSigners, evmScheme)
  const accounts = byAddress(name, [...local, ...(remote?.signers ?? [])])
  const signers = [...accounts.keys()]
  const nodes = createRpc(settings)
  const gasModel = createGasModel()
  const hasMulticall = createMulticallDetector(nodes)
  const hasPermit2 = createPermit2Detector(nodes)

  function signerOf(address: string): Signer {
    const signer = accounts.get(address)
    if (signer === undefined)
      throw new Error(`${address} is no signer of ${name}: take one of ChainSigner.addresses`)
    return signer
  }

  function queriesOver(rpc: NodesRpc): ChainQueries<EvmPayment> {
    const network: EvmNetwork = { ...settings, rpc, signers, gasModel }
    const retryOnFurthestNode = createFurthestNodeRetry(network, rpc)
    return {
      node: {
        async head() {
          const { number, timestamp } = await rpc.newestBlock()
          return { number, timestamp: Number(timestamp) }
        },
        heights: () => nodes.heights(),
        inspect: () => nodes.inspect(),
        reorgDepth: REORG_DEPTH,
        includes: (block) => includes(network, block),
        broadcast: (transaction) =>
          retryOnFurthestNode(
            ({ rpc: node }) => broadcast(node, transaction),
            () => false,
          ),
        transactionStatus: (hash) => transactionStatus(network, hash),
      },

      signer: {
        addresses: signers,
        feePayer: signers[0],
        balanceThreshold: BALANCE_THRESHOLD,
        currency: { decimals: WEI_DECIMALS },
        funds: (signer) => rpc.call(Quantity, 'eth_getBalance', [signer, 'latest']),
        nextNonce: (signer) => rpc.call(Quantity, 'eth_getTransactionCount', [signer, 'latest']),
        isAvailable: async (signer) => (await signerOf(signer).remote?.isAvailable()) ?? true,
        findProblem: async (signer) => signerOf(signer).remote?.check(),
        isNonceSpent: (signer, nonce) => isNonceSpent(network, signer, nonce),
        async prepare(batch, { signer, nonce }) {
          const from = { signer: signerOf(signer).address, nonce }
          return retryOnFurthestNode((on) => prepareBatch(on, batch, from), dependsOnState)
        },
        sign: async ({ signer, bytes, cost }) => ({
          ...(await signTransaction(bytes, signerOf(signer))),
          cost,
        }),
        replace: async (transaction, from) => replace(network, signerOf(from.signer), transaction, from),
      },

      payments: {
        extensions: async () => ((await hasPermit2()) ? ['eip2612GasSponsoring'] : []),
        checkTerms: (terms) => firstRefusal(termsChecks, { terms, network }),
        verify({ payment, terms, now, reserved = 0n }) {
          const seconds = BigInt(Math.floor(now.getTime() / 1000))
          return retryOnFurthestNode(
            (on) => transferMethodOf(payment).verify({ network: on, payment, terms, now: seconds, reserved }),
            dependsOnState,
          )
        },
        batches: (pending) => batches({ network, hasMulticall }, pending),
        paymentStatus: ({ payment, terms, minBlock = 0n }) =>
          transferMethodOf(payment).paymentStatus(network, payment, terms, minBlock),
        async findTransfer({ payment, terms, since, minBlock = 0n }) {
          const method = transferMethodOf(payment)
          const transfer = await method.findTransfer(network, payment, terms, { minBlock, since })
          if (transfer === undefined) return undefined
          const question = { network, payment, terms, now: transfer.time, reserved: 0n }
          return (await method.checkSigned(question)) ? undefined : transfer
        },
        isSpentAt: (payment, terms, block) =>
          transferMethodOf(payment).isSpentAt(network, payment, terms, block),
        async isSpentFinally(payment, terms) {
          const block = (await rpc.height()) - REORG_DEPTH
          return block >= 0n && transferMethodOf(payment).isSpentAt(network, payment, terms, block)
        },
        failsOnlyWhenMined: async (hash, payment, terms) =>
          payment.kind === 'eip3009' && failsOnlyWhenMined(network, hash, payment, terms),
      },
    }
  }

  return {
    network: { name, ecosystem, chainId },
    ...queriesOver(nodes),
    observed: (observe) => queriesOver(nodes.observed(observe)),
    tokens: {
      validate: (wanted) => validateToken(nodes, { name, chainId, maxGas, signers, hasPermit2 }, wanted),
    },

    close() {
      nodes.close()
      remote?.close()
    },
  }
}
