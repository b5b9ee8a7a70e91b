import { withTimeout } from '@tollgate/protocol'
import { computeAddress } from 'ethers'
import { ChainUnavailable } from '../../errors'
import { type NetworkSettings, type Token, type TokenProblem } from '../../family'
import { MethodMissing } from '../../json-rpc/sender'
import { answeredWord } from '../abi'
import { parseAddress } from '../address'
import type { Rpc } from '../rpc'
import { Data, quantity } from '../rpc-schemas'
import { calls } from '../transfer-methods/eip3009/authorization'
import { tokensFault, untried } from './problems'
import { simulateAuthorizations } from './simulate-authorizations'
import { simulatePermit2 } from './simulate-permit2'
import { printable } from './simulation'
import { describeToken, READ_GAS } from './token'
import { newKey, newNonce } from './token-test-cases'

type Settings = Pick<NetworkSettings, 'name' | 'chainId' | 'maxGas'> & {
  signers: readonly string[]
  hasPermit2: () => Promise<boolean>
}

/** For the whole validation, over all endpoints. */
const VALIDATION_TIMEOUT_MS = 15_000

/**
 * See `ChainTokens.validate`: the contract matches `wanted`, and implements EIP-3009 in a proven EIP-712 domain, or can be paid by
 * Permit2: a payment moves exactly its amount, once, and nothing else moves. Simulates with a generated payer. A token that
 * detects the simulation can still pass, so only the Transfer event proves a settlement.
 */
export async function validateToken(
  rpc: Rpc,
  settings: Settings,
  wanted: Pick<Token, 'asset' | 'decimals'>,
  timeoutMs = VALIDATION_TIMEOUT_MS,
): Promise<Token | TokenProblem> {
  const asset = parseAddress(wanted.asset)
  if (asset === undefined)
    return { problem: 'asset is no EVM address; give 0x and 40 hex digits', isTokensFault: false }
  const validate = async () => {
    const token = await describeToken(rpc, settings, asset)
    if ('problem' in token) return token
    return differs(token, wanted) ?? (await tryOut(rpc, settings, token).catch(explain))
  }
  return withTimeout(validate(), timeoutMs, () => {
    throw new ChainUnavailable(`${settings.name} took more than ${timeoutMs} ms to vet a token`)
  })
}

function differs(
  { name, version, decimals }: Token,
  wanted: Pick<Token, 'decimals'>,
): TokenProblem | undefined {
  if (decimals !== wanted.decimals) {
    const problem = `decimals is not ${wanted.decimals}: the contract's own is ${decimals}; send that`
    return { problem, isTokensFault: false, decimals }
  }
  const unclean = [name, version].find(
    (text) => text !== undefined && /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(text),
  )
  if (unclean !== undefined)
    return tokensFault(
      `The token's EIP-712 name or version holds control characters, which no wallet can show: ${printable(unclean)}`,
    )
  return undefined
}

/** A node without the method or without state overrides will not have them later, so this is a refusal. Rethrows other errors. */
function explain(error: unknown): TokenProblem {
  if (!(error instanceof MethodMissing)) throw error
  return untried(
    `give the network an RPC URL whose node offers eth_simulateV1 and state overrides (${printable(error.message)})`,
  )
}

/** A token with EIP-3009 is judged by that alone, as most of its payers use it. */
async function tryOut(rpc: Rpc, settings: Settings, token: Token): Promise<Token | TokenProblem> {
  const lacking = await findMissingStandard(rpc, token)
  if (lacking === undefined) return (await simulateAuthorizations(rpc, settings, token)) ?? token
  const outcome = await simulatePermit2(rpc, settings, token)
  if ('problem' in outcome)
    return { ...outcome, problem: `${lacking}. Nor can it be paid by Permit2: ${outcome.problem}` }
  const { asset, symbol, decimals } = token
  return {
    ...(outcome.takesPermits ? token : { asset, symbol, decimals }),
    assetTransferMethod: 'permit2',
  }
}

/** Why the token cannot be paid by EIP-3009. */
async function findMissingStandard(rpc: Rpc, { asset, name, version }: Token): Promise<string | undefined> {
  if (name === undefined || version === undefined)
    return "The token's EIP-712 domain cannot be proven: neither its DOMAIN_SEPARATOR nor its eip712Domain confirms a name and a version, so what to sign for EIP-3009 is unknown"
  const data = calls.isAuthorizationUsed({ payer: computeAddress(newKey()), nonce: newNonce() })
  const used = await rpc.run(Data, 'eth_call', [{ to: asset, data, gas: quantity(READ_GAS) }, 'latest'])
  return answeredWord(used) === undefined
    ? 'The token does not take EIP-3009 authorizations: authorizationState gives no answer'
    : undefined
}
