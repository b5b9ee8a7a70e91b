import { AbiCoder } from 'ethers'
import { sameAddress } from '../address'
import type { EvmNetwork } from '../network'
import { revertText } from '../revert'
import { Data, quantity } from '../rpc-schemas'
import type { Deployment } from '../signing/wrapped-signature'
import { aggregate3, MULTICALL3 } from './multicall'

type Call = { to: string; data: string }
type Answer = { value: string } | { reverted: string }

/** Whether the network's settings allow the call of this wrapper's factory. */
export const isFactoryAllowed = ({ walletFactories }: EvmNetwork, { factory }: Deployment): boolean =>
  walletFactories.some((allowed) => sameAddress(allowed, factory))

/**
 * One call of Multicall3: deploys the wallet, then makes these calls, which revert it if they fail. The factory may fail:
 * another account may deploy the wallet first.
 */
export const deployAndCall = ({ factory, data }: Deployment, call: Call): Call => ({
  to: MULTICALL3,
  data: aggregate3([{ to: factory, data, mayFail: true }, call], false),
})

/** The results of two calls after the deployment, in one simulation with the gas limit of a settlement. */
export async function simulateDeployment(
  { rpc, signers, maxGas }: EvmNetwork,
  { factory, data }: Deployment,
  calls: readonly [Call, Call],
  block: 'latest' | 'pending',
): Promise<[Answer, Answer]> {
  const all = aggregate3([{ to: factory, data }, ...calls], true)
  const call = { from: signers[0], to: MULTICALL3, data: all, gas: quantity(maxGas) }
  const answer = await rpc.run(Data, 'eth_call', [call, block])
  const [, one, other] = 'value' in answer ? resultsIn(answer.value) : []
  const none = 'value' in answer ? { reverted: 'Multicall3 gives no result' } : answer
  return [one ?? none, other ?? none]
}

function resultsIn(returned: string): Answer[] {
  try {
    const [results] = AbiCoder.defaultAbiCoder().decode(['tuple(bool,bytes)[]'], returned)
    return (results as [boolean, string][]).map(([succeeded, data]) =>
      succeeded ? { value: data } : { reverted: revertText({ message: 'reverted', data }) },
    )
  } catch {
    return []
  }
}
