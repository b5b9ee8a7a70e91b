import { withTimeout } from '@tollgate/protocol'
import { ChainUnavailable } from '../../errors'
import { type NetworkSettings, type Token, type TokenProblem } from '../../family'
import { MethodMissing } from '../../json-rpc/sender'
import { parseAddress, ZERO_ADDRESS } from '../address'
import { answeredWord } from '../abi'
import { Data, quantity } from '../rpc-schemas'
import { calls, domainSeparator } from '../transfer-methods/eip3009/authorization'
import { overrideBalance } from './balance-override'
import type { Rpc } from '../rpc'
import { printable, simulate } from './simulation'
import { describeToken, READ_GAS } from './token'
import { callsOf, failsForGood, prepareTestCases, problemIn } from './token-test-cases'

type Settings = Pick<NetworkSettings, 'name' | 'chainId' | 'maxGas'> & { signers: readonly string[] }

/** For the whole validation, over all endpoints. */
const VALIDATION_TIMEOUT_MS = 15_000

/**
 * See `ChainTokens.validate`: the contract matches `wanted`, its EIP-712 domain is proven, and it implements EIP-3009: an
 * authorization moves exactly its amount, once, and nothing else moves. Simulates with a generated payer. A token that
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
    return differs(token, wanted) ?? (await simulatePayments(rpc, settings, token).catch(explain)) ?? token
  }
  return withTimeout(validate(), timeoutMs, () => {
    throw new ChainUnavailable(`${settings.name} took more than ${timeoutMs} ms to vet a token`)
  })
}

const wantsMoreGas = (maxGas: bigint): TokenProblem => ({
  problem: `transferWithAuthorization takes more gas than a settlement may use on the network; raise its max_gas of ${maxGas}`,
  isTokensFault: false,
})
const tokensFault = (problem: string): TokenProblem => ({ problem, isTokensFault: true })
const untried = (why: string): TokenProblem => ({
  problem: `The token cannot be tried out: ${why}`,
  isTokensFault: false,
})

function differs(
  { name, version, decimals }: Token,
  wanted: Pick<Token, 'decimals'>,
): TokenProblem | undefined {
  if (decimals !== wanted.decimals) {
    const problem = `decimals is not ${wanted.decimals}: the contract's own is ${decimals}; send that`
    return { problem, isTokensFault: false, decimals }
  }
  if (name === undefined || version === undefined)
    return tokensFault(
      "The token's EIP-712 domain cannot be proven: neither its DOMAIN_SEPARATOR nor its eip712Domain confirms a name and a version, so what to sign is unknown",
    )
  const unclean = [name, version].find((text) => /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(text))
  if (unclean !== undefined)
    return tokensFault(
      `The token's EIP-712 name or version holds control characters, which no wallet can show: ${printable(unclean)}`,
    )
  return undefined
}

/** More than any transfer needs, so that a failure has another cause than gas. */
const AMPLE_GAS = 3_000_000n

/** A node without the method or without state overrides will not have them later, so this is a refusal. Rethrows other errors. */
function explain(error: unknown): TokenProblem {
  if (!(error instanceof MethodMissing)) throw error
  return untried(
    `give the network an RPC URL whose node offers eth_simulateV1 and state overrides (${printable(error.message)})`,
  )
}

async function simulatePayments(
  rpc: Rpc,
  settings: Settings,
  token: Token,
): Promise<TokenProblem | undefined> {
  const { chainId, maxGas, signers } = settings
  const { asset, name = '', version = '', decimals } = token
  const [from = ZERO_ADDRESS] = signers
  const block = await rpc.newestBlock()
  const separator = domainSeparator(name, version, chainId, asset)
  const testCases = prepareTestCases(asset, separator, decimals, block.timestamp)
  const { payer, endowment, one } = testCases

  const storage = await overrideBalance(rpc, { asset, holder: payer, amount: endowment, from })
  if (storage === undefined)
    return untried('no word of the storage that balanceOf reads is found to be the balance of its holder')

  const run = (data: string, gas: bigint) =>
    rpc.run(Data, 'eth_call', [{ from, to: asset, data, gas: quantity(gas) }, 'latest', storage])
  const [used, paid] = await Promise.all([
    run(calls.isAuthorizationUsed(one), READ_GAS),
    run(calls.transfer(one, true), maxGas),
  ])
  const nonstandard = checkStandard(used)
  if (nonstandard !== undefined) return nonstandard
  if ('reverted' in paid)
    return checkAnswer(await run(calls.transfer(one, true), AMPLE_GAS)) ?? wantsMoreGas(maxGas)
  const tooLong = checkAnswer(paid)
  if (tooLong !== undefined) return tooLong
  const { now, later } = callsOf(testCases, maxGas)
  const results = await simulate(rpc, { from, to: asset, storage, block }, now, later)
  return problemIn(results, testCases)
}

type Answer = { value: string } | { reverted: string }

function checkStandard(used: Answer): TokenProblem | undefined {
  const state = answeredWord(used)
  if (state === undefined)
    return tokensFault('The token does not take EIP-3009 authorizations: authorizationState gives no answer')
  return state === 0n
    ? undefined
    : tokensFault('authorizationState calls an authorization used that was never used')
}

/** Refuses long return data before the simulation, which would keep it in memory for each call. */
function checkAnswer(paid: Answer): TokenProblem | undefined {
  if ('reverted' in paid) return failsForGood(paid.reverted)
  return paid.value.length > 66
    ? tokensFault('transferWithAuthorization answers more than a word')
    : undefined
}
