import { answeredWord } from '../../abi'
import { Data, quantity } from '../../rpc-schemas'
import type { Case } from '../checks'
import { askContract, vouches } from '../../signing/eip1271'
import { balanceCall } from '../../tokens/erc20'
import { isSignedByKey } from '../../signing/signature'
import { calls, digestOf } from './authorization'
import type { ChainState } from './checks'
import type { AuthorizedPayment } from './payment'

/** One round trip. Contracts run with the gas limit of a settlement, which bounds a payer's contract that never ends. */
export async function readChainState({
  network: { rpc, chainId, maxGas, signers },
  payment,
  terms,
}: Case<AuthorizedPayment>): Promise<ChainState> {
  const run = (to: string, data: string, block = 'latest') =>
    rpc.run(Data, 'eth_call', [{ from: signers[0], to, data, gas: quantity(maxGas) }, block])
  const { asset } = terms.token
  const digest = digestOf(payment, terms.token, chainId)
  const signedByKey = isSignedByKey(payment, digest)
  const settlement = calls.transfer(payment, signedByKey)

  const [block, used, balance, simulation, vouched] = await Promise.all([
    rpc.newestBlock(),
    run(asset, calls.isAuthorizationUsed(payment)),
    run(asset, balanceCall(payment.payer)),
    run(asset, settlement),
    signedByKey ? undefined : run(payment.payer, askContract(digest, payment.signature)),
  ])
  // The newest block of an idle chain is old: the next block may accept a payment that is not yet valid in it.
  const settled =
    'reverted' in simulation && payment.validAfter >= block.timestamp
      ? await run(asset, settlement, 'pending')
      : simulation

  const usedWord = answeredWord(used)
  return {
    chainTime: block.timestamp,
    signatureHolds: signedByKey || (vouched !== undefined && vouches(vouched)),
    authorizationUsed: usedWord === undefined ? undefined : usedWord !== 0n,
    balance: answeredWord(balance),
    failure: 'reverted' in settled ? settled.reverted : undefined,
  }
}
