import { answeredWord } from '../../abi'
import type { EvmNetwork } from '../../network'
import { Data, quantity } from '../../rpc-schemas'
import { isFactoryAllowed, simulateDeployment } from '../../settlement/deployment'
import type { Case } from '../checks'
import { readHasCode } from '../relayed-payment'
import { askContract, vouches } from '../../signing/eip1271'
import { balanceCall } from '../../tokens/erc20'
import { isSignedByKey } from '../../signing/signature'
import { calls, digestOf } from './authorization'
import type { ChainState } from './checks'
import type { AuthorizedPayment } from './payment'

type Block = 'latest' | 'pending'

/**
 * One round trip for a payment that would settle. A simulated transfer that succeeds proves that the balance suffices, so the
 * balance is read only to reserve a part of it, for payments of contracts, and to find the reason of a failure. The nonce is
 * read each time: a faulty token may take an authorization twice. Contracts run with the gas limit of a settlement, which
 * bounds a payer's contract that never ends.
 */
export async function readChainState(context: Case<AuthorizedPayment>): Promise<ChainState> {
  const { network, payment, terms, reserved } = context
  const { asset } = terms.token
  const signedByKey = isSignedByKey(payment, digestOf(payment, terms.token, network.chainId))
  const readBalance = () => runAsSigner(network, asset, balanceCall(payment.payer)).then(answeredWord)

  const [block, used, simulation, knownBalance] = await Promise.all([
    network.rpc.newestBlock(),
    runAsSigner(network, asset, calls.isAuthorizationUsed(payment)),
    simulate(context, 'latest'),
    !signedByKey || reserved > 0n ? readBalance() : undefined,
  ])
  const { isDeployed, vouched, transfer } = simulation
  // The newest block of an idle chain is old: the next block may accept a payment that is not yet valid in it.
  const settled =
    'reverted' in transfer && payment.validAfter >= block.timestamp
      ? (await simulate(context, 'pending')).transfer
      : transfer
  const failure = 'reverted' in settled ? settled.reverted : undefined
  const usedWord = answeredWord(used)
  const isSufficient = failure === undefined && signedByKey && reserved === 0n
  return {
    chainTime: block.timestamp,
    isDeployed,
    signatureHolds: signedByKey || (vouched !== undefined && vouches(vouched)),
    authorizationUsed: usedWord === undefined ? undefined : usedWord !== 0n,
    balance: isSufficient ? payment.amount : (knownBalance ?? (await readBalance())),
    failure,
  }
}

type Answer = { value: string } | { reverted: string }
type Simulation = Pick<ChainState, 'isDeployed'> & { vouched: Answer | undefined; transfer: Answer }

/** The transfer, and the payer's answer about the signature if its key did not sign; after the deployment if that is needed. */
async function simulate(
  { network, payment, terms: { token } }: Case<AuthorizedPayment>,
  block: Block,
): Promise<Simulation> {
  const digest = digestOf(payment, token, network.chainId)
  const signedByKey = isSignedByKey(payment, digest)
  const { payer, signature, deployment } = payment
  const question = { to: payer, data: askContract(digest, signature) }
  const settlement = { to: token.asset, data: calls.transfer(payment, signedByKey) }

  const [hasCode, vouched, transfer, deployed] = await Promise.all([
    readHasCode(network.rpc, payment),
    signedByKey ? undefined : runAsSigner(network, question.to, question.data, block),
    runAsSigner(network, settlement.to, settlement.data, block),
    deployment && isFactoryAllowed(network, deployment)
      ? simulateDeployment(network, deployment, [question, settlement], block)
      : undefined,
  ])
  if (hasCode !== false || deployed === undefined) return { isDeployed: hasCode, vouched, transfer }
  const [answer, outcome] = deployed
  // An account without code returns nothing.
  return { isDeployed: 'value' in answer && answer.value !== '0x', vouched: answer, transfer: outcome }
}

const runAsSigner = (
  { rpc, signers, maxGas }: EvmNetwork,
  to: string,
  data: string,
  block: Block = 'latest',
) => rpc.run(Data, 'eth_call', [{ from: signers[0], to, data, gas: quantity(maxGas) }, block])
