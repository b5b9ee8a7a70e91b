import { computeAddress, SigningKey } from 'ethers'
import { z } from 'zod'
import type { Chain, NetworkSettings, Terms } from '../family'
import { Quantity } from './answers'
import { chainChecks, firstRefusal, offlineChecks, termsChecks } from './checks'
import { authorizationDigest, calls, domainSeparator, isSignedByKey } from './eip3009'
import { askFacts } from './facts'
import { findSettled, readOutcome } from './outcome'
import type { EvmPayment } from './payment'
import { createRpc } from './rpc'
import { broadcast, signCall } from './settlement'
import { isCounterfactual } from './signature'
import { vetToken } from './vetting'

/** The settlement keys by their addresses; says which one is wrong without telling it. */
function readKeys(signerKeys: readonly string[]): ReadonlyMap<string, SigningKey> {
  return new Map(
    signerKeys.map((text, i) => {
      try {
        const key = new SigningKey(text)
        return [computeAddress(key), key]
      } catch {
        throw new Error(`Signer key ${i + 1} is no private key: give 0x and 64 hex digits`)
      }
    }),
  )
}

function checkSettings({ name, chainId, rpcUrls }: NetworkSettings): void {
  if (!/^[1-9][0-9]{0,18}$/.test(chainId))
    throw new Error(`${name}: an EVM chain id is a number, not ${chainId}`)
  if (
    !z
      .array(z.url({ protocol: /^https?$/ }))
      .min(1)
      .safeParse(rpcUrls).success
  )
    throw new Error(`${name}: give at least one RPC URL, each http:// or https://`)
}

const MAX_DOMAINS = 1_000

/** Computes each token's EIP-712 domain separator once. */
function createDomains(chainId: string) {
  const separators = new Map<string, string>()
  return ({ asset, name = '', version = '' }: Terms['token']): string => {
    const key = JSON.stringify([asset, name, version])
    const known = separators.get(key)
    if (known !== undefined) return known
    if (separators.size >= MAX_DOMAINS) separators.clear()
    const separator = domainSeparator(name, version, chainId, asset)
    separators.set(key, separator)
    return separator
  }
}

/** An EVM network over JSON-RPC, as far as `exact` payments by EIP-3009 go. Throws where the settings cannot be used. */
export function createChain(settings: NetworkSettings): Chain<EvmPayment> {
  checkSettings(settings)
  const { name, ecosystem, chainId, maxGas, confirmations } = settings
  const keys = readKeys(settings.signerKeys)
  const signers = [...keys.keys()]
  const rpc = createRpc(settings)
  const domainOf = createDomains(chainId)
  const confirmationBudget = BigInt(settings.confirmationBudgetSeconds)
  const digestOf = (payment: EvmPayment, { token }: Terms) => authorizationDigest(payment, domainOf(token))

  return {
    network: { name, ecosystem, chainId },
    signers,

    async head() {
      const { number, timestamp } = await rpc.newestBlock()
      return { number, timestamp: Number(timestamp) }
    },

    vetToken: (wanted) => vetToken(rpc, { name, chainId, maxGas, signers }, wanted),

    checkTerms: (terms) => firstRefusal(termsChecks, { terms, signers }),

    async verify(payment, terms, now) {
      const seconds = BigInt(Math.floor(now.getTime() / 1000))
      const question = { payment, terms, now: seconds, confirmationBudget, signers }
      const refusal = firstRefusal(offlineChecks, question)
      if (refusal !== undefined) return refusal
      if (isCounterfactual(payment.signature))
        return {
          reason: 'invalid_exact_evm_payload_undeployed_smart_wallet',
          detail: 'an EIP-6492 signature: deploy the wallet first',
        }
      const digest = digestOf(payment, terms)
      const signedByKey = isSignedByKey(payment, digest)
      const facts = await askFacts(rpc, { maxGas, signers }, { payment, terms, digest, signedByKey })
      return firstRefusal(chainChecks, { ...question, facts })
    },

    nextNonce: (signer) => rpc.call(Quantity, 'eth_getTransactionCount', [signer, 'pending']),

    async sign(payment, terms, { signer, nonce }) {
      const key = keys.get(signer)
      if (key === undefined) throw new Error(`${signer} is no signer of ${name}: take one of Chain.signers`)
      const data = calls.transfer(payment, isSignedByKey(payment, digestOf(payment, terms)))
      const call = { from: signer, to: terms.token.asset, data, nonce, notBefore: payment.validAfter }
      return signCall(rpc, settings, key, call)
    },

    broadcast: (transaction) => broadcast(rpc, transaction),
    outcome: (hash, payment, terms) => readOutcome(rpc, { confirmations, signers }, hash, payment, terms),
    findSettled: (payment, terms, seen) => findSettled(rpc, { confirmations, signers }, payment, terms, seen),
    close: () => rpc.close(),
  }
}
