import type { NetworkSettings, Token, TokenProblem } from '../../family'
import { answeredWord } from '../abi'
import { ZERO_ADDRESS } from '../address'
import type { Rpc } from '../rpc'
import { Data, quantity } from '../rpc-schemas'
import { calls, domainSeparator } from '../transfer-methods/eip3009/authorization'
import { overrideBalance } from './balance-override'
import { AMPLE_GAS, NO_BALANCE_WORD, tokensFault, untried, wantsMoreGas } from './problems'
import { simulate } from './simulation'
import { READ_GAS } from './token'
import { callsOf, failsForGood, prepareTestCases, problemIn } from './token-test-cases'

type Settings = Pick<NetworkSettings, 'chainId' | 'maxGas'> & { signers: readonly string[] }

/** What simulated EIP-3009 payments show against a token whose domain is proven. */
export async function simulateAuthorizations(
  rpc: Rpc,
  { chainId, maxGas, signers }: Settings,
  { asset, name = '', version = '', decimals }: Token,
): Promise<TokenProblem | undefined> {
  const [from = ZERO_ADDRESS] = signers
  const block = await rpc.newestBlock()
  const separator = domainSeparator(name, version, chainId, asset)
  const testCases = prepareTestCases(asset, separator, decimals, block.timestamp)
  const { payer, endowment, one } = testCases

  const storage = await overrideBalance(rpc, { asset, holder: payer, amount: endowment, from })
  if (storage === undefined) return untried(NO_BALANCE_WORD)

  const run = (data: string, gas: bigint) =>
    rpc.run(Data, 'eth_call', [{ from, to: asset, data, gas: quantity(gas) }, 'latest', storage])
  const [used, paid] = await Promise.all([
    run(calls.isAuthorizationUsed(one), READ_GAS),
    run(calls.transfer(one, true), maxGas),
  ])
  if (answeredWord(used) !== 0n)
    return tokensFault('authorizationState calls an authorization used that was never used')
  if ('reverted' in paid)
    return (
      checkAnswer(await run(calls.transfer(one, true), AMPLE_GAS)) ??
      wantsMoreGas('transferWithAuthorization', maxGas)
    )
  const tooLong = checkAnswer(paid)
  if (tooLong !== undefined) return tooLong
  const { now, later } = callsOf(testCases, maxGas)
  const results = await simulate(rpc, { from, to: asset, storage, block }, now, later)
  return problemIn(results, testCases)
}

type Answer = { value: string } | { reverted: string }

/** Refuses long return data before the simulation, which would keep it in memory for each call. */
function checkAnswer(paid: Answer): TokenProblem | undefined {
  if ('reverted' in paid) return failsForGood(paid.reverted)
  return paid.value.length > 66
    ? tokensFault('transferWithAuthorization answers more than a word')
    : undefined
}
