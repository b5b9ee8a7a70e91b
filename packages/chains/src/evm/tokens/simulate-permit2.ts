import type { NetworkSettings, Token, TokenProblem } from '../../family'
import { answeredWord } from '../abi'
import { ZERO_ADDRESS } from '../address'
import type { Rpc } from '../rpc'
import { Data, quantity } from '../rpc-schemas'
import { domainSeparator } from '../transfer-methods/eip3009/authorization'
import { PERMIT2, PROXY } from '../transfer-methods/permit2/contracts'
import { overrideBalance } from './balance-override'
import { allowanceCall } from './erc20'
import { permit2CallsOf, permit2Outcome, preparePermit2TestCases } from './permit2-test-cases'
import { AMPLE_GAS, NO_BALANCE_WORD, tokensFault, untried, wantsMoreGas } from './problems'
import { simulate } from './simulation'
import { READ_GAS } from './token'

type Settings = Pick<NetworkSettings, 'name' | 'chainId' | 'maxGas'> & {
  signers: readonly string[]
  hasPermit2: () => Promise<boolean>
}

/** What simulated payments through Permit2 and x402's proxy show. `takesPermits`: also with the token's own permit. */
export async function simulatePermit2(
  rpc: Rpc,
  settings: Settings,
  { asset, name = '', version = '', decimals }: Token,
): Promise<TokenProblem | { takesPermits: boolean }> {
  const { name: network, chainId, maxGas, signers, hasPermit2 } = settings
  if (!(await hasPermit2()))
    return tokensFault(
      `Permit2 (${PERMIT2}) and the proxy of x402 (${PROXY}) are not both on ${network}; deploy them, or take a token with EIP-3009`,
    )
  if (!(await tellsAllowances(rpc, asset)))
    return tokensFault('the token tells no allowances, so it is no ERC-20 token')
  const [from = ZERO_ADDRESS] = signers
  const block = await rpc.newestBlock()
  const separator = domainSeparator(name, version, chainId, asset)
  const cases = preparePermit2TestCases({ asset, chainId, separator, decimals }, block.timestamp)
  const { payer: holder, endowment: amount } = cases
  const storage = await overrideBalance(rpc, { asset, holder, amount, from })
  if (storage === undefined) return untried(NO_BALANCE_WORD)

  const run = async (gas: bigint) => {
    const { now, later } = permit2CallsOf(cases, { stranger: from, gas })
    return permit2Outcome(await simulate(rpc, { from, to: asset, storage, block }, now, later), cases)
  }
  const outcome = await run(maxGas)
  if (!('problem' in outcome) || outcome.isTokensFault) return outcome
  return 'problem' in (await run(AMPLE_GAS)) ? outcome : wantsMoreGas('transferFrom by Permit2', maxGas)
}

async function tellsAllowances(rpc: Rpc, asset: string): Promise<boolean> {
  const call = { to: asset, data: allowanceCall(PROXY, PERMIT2), gas: quantity(READ_GAS) }
  return answeredWord(await rpc.run(Data, 'eth_call', [call, 'latest'])) !== undefined
}
