import { answeredWord } from '../../abi'
import type { EvmNetwork } from '../../network'
import { Data, quantity } from '../../rpc-schemas'
import type { Case } from '../checks'
import { askContract, vouches } from '../../signing/eip1271'
import { balanceCall } from '../../tokens/erc20'
import { isSignedByKey } from '../../signing/signature'
import { calls, digestOf } from './authorization'
import type { ChainState } from './checks'
import type { AuthorizedPayment } from './payment'

/**
 * One round trip for a payment that would settle. A simulated transfer that succeeds proves that the balance suffices, so the
 * balance is read only to reserve a part of it, for payments of contracts, and to find the reason of a failure. The nonce is
 * read each time: a faulty token may take an authorization twice. Contracts run with the gas limit of a settlement, which
 * bounds a payer's contract that never ends.
 */
export async function readChainState(context: Case<AuthorizedPayment>): Promise<ChainState> {
  const { network, payment, terms, reserved } = context
  const { rpc, chainId } = network
  const { asset } = terms.token
  const digest = digestOf(payment, terms.token, chainId)
  const signedByKey = isSignedByKey(payment, digest)
  const settlement = calls.transfer(payment, signedByKey)
  const readBalance = () => runAsSigner(network, asset, balanceCall(payment.payer)).then(answeredWord)

  const [block, used, simulation, knownBalance, vouched] = await Promise.all([
    rpc.newestBlock(),
    runAsSigner(network, asset, calls.isAuthorizationUsed(payment)),
    runAsSigner(network, asset, settlement),
    !signedByKey || reserved > 0n ? readBalance() : undefined,
    signedByKey ? undefined : runAsSigner(network, payment.payer, askContract(digest, payment.signature)),
  ])
  // The newest block of an idle chain is old: the next block may accept a payment that is not yet valid in it.
  const settled =
    'reverted' in simulation && payment.validAfter >= block.timestamp
      ? await runAsSigner(network, asset, settlement, 'pending')
      : simulation
  const failure = 'reverted' in settled ? settled.reverted : undefined
  const usedWord = answeredWord(used)
  const isSufficient = failure === undefined && signedByKey && reserved === 0n
  return {
    chainTime: block.timestamp,
    signatureHolds: signedByKey || (vouched !== undefined && vouches(vouched)),
    authorizationUsed: usedWord === undefined ? undefined : usedWord !== 0n,
    balance: isSufficient ? payment.amount : (knownBalance ?? (await readBalance())),
    failure,
  }
}

const runAsSigner = (
  { rpc, signers, maxGas }: EvmNetwork,
  to: string,
  data: string,
  block: 'latest' | 'pending' = 'latest',
) => rpc.run(Data, 'eth_call', [{ from: signers[0], to, data, gas: quantity(maxGas) }, block])
