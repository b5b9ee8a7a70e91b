import { firstRefusal, isOfState } from '../checks'
import { RpcUrls } from '../configuration'
import type { Chain, NetworkSettings } from '../family'
import { createSecondOpinion } from '../second-opinion'
import { addressOf } from './address'
import { broadcast } from './broadcast'
import { termsChecks } from './checks'
import { isSequenceSpent, isSpentAt, sequenceOf } from './confirmed'
import { fate } from './fate'
import { publicKeyOf } from './feegrant/own-transaction'
import { replaceGrants, signGrants } from './feegrant/settlement'
import { batches, sponsorship } from './feegrant/sponsorship'
import { feeFor } from './fees'
import { includes, inspect } from './inspection'
import type { CosmosNetwork, CosmosSettings } from './network'
import type { CosmosPayment } from './payment'
import { createRpc } from './rpc'
import { vetToken } from './token'
import { verify } from './verify'

/** As CometBFT takes them, and as they can stand in a URL and after `cosmos:` (CAIP-2). */
export const isChainId = (text: string): boolean => /^[A-Za-z0-9][A-Za-z0-9._-]{0,49}$/.test(text)

function checkSettings({
  name,
  chainId,
  rpcUrls,
  signerKeys,
  gaslessMaxFee,
  maxFeesPerDay,
}: NetworkSettings & CosmosSettings): void {
  if (!isChainId(chainId)) throw new Error(`${name}: ${chainId} is no chain id such as cosmoshub-4`)
  if (!RpcUrls.safeParse(rpcUrls).success)
    throw new Error(`${name}: give at least one RPC URL, each http:// or https://`)
  if (signerKeys.length > 1)
    throw new Error(`${name}: give one signer key at most: clients name one account as their fee granter`)
  if (gaslessMaxFee === undefined) return
  if (signerKeys.length === 0)
    throw new Error(`${name}: give a signer key, whose account bears the fees of payments`)
  if (maxFeesPerDay === undefined)
    throw new Error(`${name}: say what the fees that we bear may come to in a day`)
}

function readKey(text: string): { key: Uint8Array; publicKey: Uint8Array } {
  try {
    const key = new Uint8Array(Buffer.from(text.replace(/^0x/, ''), 'hex'))
    return { key, publicKey: publicKeyOf(key) }
  } catch {
    // The library's own words may hold the key.
    throw new Error('The signer key is no private key: give 64 hex digits')
  }
}

/** Blocks are final once they are there: CometBFT drops none. */
const REORG_DEPTH = 0n

const NO_SIMULATE = 'cannot simulate transactions: turn its gRPC or its REST server on'

/** Payments that a signer should be able to bear the fees of. */
const AMPLE_PAYMENTS = 100n

/** A Cosmos network over CometBFT JSON-RPC, as far as `exact` payments go. Throws where the settings cannot be used. */
export function createChain({
  signerKeys,
  ...settings
}: NetworkSettings & CosmosSettings): Chain<CosmosPayment> {
  checkSettings({ signerKeys, ...settings })
  const { name, ecosystem, chainId, prefix, feeDenom, gasPrice, gaslessMaxFee, maxGas } = settings
  const [own] = signerKeys.map(readKey)
  const signer = own && addressOf({ type: 'secp256k1', bytes: own.publicKey }, prefix)
  const rpc = createRpc(settings)
  const network: CosmosNetwork = { ...settings, rpc, signer: signer ?? '' }

  function keyOf(asked: string): Uint8Array {
    if (own === undefined || asked !== signer)
      throw new Error(`${asked} is no signer of ${name}: take one of Chain.signers`)
    return own.key
  }

  const askedOfFurthest = createSecondOpinion(network, rpc)

  return {
    network: { name, ecosystem, chainId },
    signers: signer === undefined ? [] : [signer],
    feePayer: gaslessMaxFee === undefined ? undefined : signer,
    ampleFunds:
      gaslessMaxFee === undefined ? 0n : AMPLE_PAYMENTS * (gaslessMaxFee + feeFor(maxGas, gasPrice)),

    async head() {
      const { number, timestamp } = await rpc.newestBlock()
      return { number, timestamp: Number(timestamp) }
    },

    async checkNodes() {
      const able = await rpc.canSimulate()
      return {
        problems: able.flatMap((can, i) => (can === false ? [`node ${i + 1} ${NO_SIMULATE}`] : [])),
        isUsable: able.some((can) => can !== false),
      }
    },
    heights: () => rpc.heights(),

    extensions: () => Promise.resolve([]),

    vetToken: (wanted) => vetToken(network, wanted),

    checkTerms: (terms) => firstRefusal(termsChecks, { terms, network }),

    verify: (payment, terms, _now, reserved = 0n, since = 0n) =>
      askedOfFurthest((on) => verify({ network: on, payment, terms, reserved, since }), isOfState),

    funds: (asked) => rpc.balance(asked, feeDenom),
    nextNonce: async (asked) => sequenceOf(await rpc.account(asked)),
    isNonceSpent: (asked, nonce) => isSequenceSpent(network, asked, nonce),

    ...(gaslessMaxFee === undefined
      ? {}
      : {
          sponsorship: (payment: CosmosPayment, since = 0n) => sponsorship(network, payment, since),
        }),
    batches: (due) => Promise.resolve(batches(due)),
    sign: async (batch, from) => signGrants(network, keyOf(from.signer), batch, from),
    replace: async (transaction, from) => replaceGrants(network, keyOf(from.signer), transaction),
    broadcast: (transaction) => broadcast(network, transaction),

    inspect: (hash) => inspect(network, hash),
    reorgDepth: REORG_DEPTH,
    includes: (block) => includes(network, block),
    fate: (payment, terms, seen = 0n) => fate(network, payment, terms, seen),
    isSpentAt: ({ payer, tx }, _terms, block) =>
      isSpentAt(network, payer, tx.signers[0]?.sequence ?? 0n, block),
    isSpentForGood: ({ payer, tx }) => isSequenceSpent(network, payer, tx.signers[0]?.sequence ?? 0n),
    close: () => rpc.close(),
  }
}
