import { AuthInfo, Fee, TxRaw } from 'cosmjs-types/cosmos/tx/v1beta1/tx'
import type { ChainState } from './chain-checks'
import type { VerifyContext } from './checks'
import { isGranted } from '../../settlement/feegrant/sponsorship'
import type { Tx } from '../../signing/tx'

/** One round trip; two if we pay the fee. */
export async function readChainState({
  network,
  payment,
  terms,
  minBlock,
}: VerifyContext): Promise<ChainState> {
  const { rpc } = network
  const { payer, tx } = payment
  const paysItself = tx.fee.granter === '' && !payment.countersigned
  const isCovered = paysItself || (await isGranted(network, payment, minBlock))
  const [{ account }, balance, { number: height }, memoLimit, simulated] = await Promise.all([
    rpc.accountAt(payer, { minBlock }),
    rpc.balance(payer, terms.token.asset, minBlock),
    rpc.newestBlock(),
    rpc.memoLimit(),
    rpc.simulate(isCovered ? tx.bytes : withoutFee(tx), minBlock),
  ])
  return { account, balance, height, memoLimit, isCovered, simulated }
}

/** A simulation needs no fee, whose allowance or signature of ours may not exist yet. */
function withoutFee({ bodyBytes, authInfoBytes, signatures, fee: { gas: gasLimit } }: Tx): Uint8Array {
  const authInfo = { ...AuthInfo.decode(authInfoBytes), fee: Fee.fromPartial({ gasLimit }) }
  return TxRaw.encode({
    bodyBytes,
    authInfoBytes: AuthInfo.encode(authInfo).finish(),
    signatures: [...signatures],
  }).finish()
}
