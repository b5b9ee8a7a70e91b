import { answeredWord } from '../../abi'
import { Data, quantity } from '../../rpc-schemas'
import type { Case } from '../checks'
import { readHasCode } from '../relayed-payment'
import { askContract, vouches } from '../../signing/eip1271'
import { balanceCall } from '../../tokens/erc20'
import { isSignedByKey, signatureToSend } from '../../signing/signature'
import type { ChainState } from './checks'
import { hasProxy, PERMIT2, PROXY } from './contracts'
import type { PermittedPayment } from './payment'
import { digestOf, isUsedIn, questions, settlementCall } from './transfer'

/** One round trip. Contracts run with the gas limit of a settlement. */
export async function readChainState({
  network: { rpc, chainId, maxGas, signers },
  payment,
}: Case<PermittedPayment>): Promise<ChainState> {
  const run = (to: string, data: string, block = 'latest') =>
    rpc.run(Data, 'eth_call', [{ from: signers[0], to, data, gas: quantity(maxGas) }, block])
  const { asset, payer, signature, validAfter, permit } = payment
  const digest = digestOf(payment, chainId)
  const signedByKey = isSignedByKey(payment, digest)
  const settlement = settlementCall(payment, signatureToSend(payment, digest))

  const [block, isDeployed, proxyIsThere, nonceWord, balance, allowance, permitNonce, simulation, vouched] =
    await Promise.all([
      rpc.newestBlock(),
      readHasCode(rpc, payment),
      hasProxy(rpc),
      run(PERMIT2, questions.nonceWord(payment)),
      run(asset, balanceCall(payer)),
      run(asset, questions.allowance(payment)),
      permit === undefined ? undefined : run(asset, questions.permitNonce(payment)),
      run(PROXY, settlement),
      signedByKey ? undefined : run(payer, askContract(digest, signature)),
    ])
  // The newest block of an idle chain is old: the next block may accept a payment that is not yet valid in it.
  const settled =
    'reverted' in simulation && validAfter > block.timestamp
      ? await run(PROXY, settlement, 'pending')
      : simulation

  const word = answeredWord(nonceWord)
  return {
    chainTime: block.timestamp,
    isDeployed,
    signatureHolds: signedByKey || (vouched !== undefined && vouches(vouched)),
    nonceUsed: word === undefined || !proxyIsThere ? undefined : isUsedIn(word, payment),
    balance: answeredWord(balance),
    allowance: answeredWord(allowance),
    permitNonce: permitNonce && answeredWord(permitNonce),
    failure: 'reverted' in settled ? settled.reverted : undefined,
  }
}
