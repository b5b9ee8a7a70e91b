import { AuthInfo, Fee, TxRaw } from 'cosmjs-types/cosmos/tx/v1beta1/tx'
import type { Facts } from './chain-checks'
import type { Case } from './checks'
import { isGranted } from './feegrant/sponsorship'
import type { Tx } from './tx'

/** Asks the chain all it knows of a payment, in one round trip; where its fee is ours, in two. */
export async function askFacts({ network, payment, terms, since }: Case): Promise<Facts> {
  const { rpc } = network
  const { payer, tx } = payment
  const isCovered = tx.fee.granter === '' || (await isGranted(network, payment, since))
  const [{ account }, balance, { number: height }, memoLimit, simulated] = await Promise.all([
    rpc.accountAt(payer, { since }),
    rpc.balance(payer, terms.token.asset, since),
    rpc.newestBlock(),
    rpc.memoLimit(),
    rpc.simulate(isCovered ? tx.bytes : withoutFee(tx), since),
  ])
  return { account, balance, height, memoLimit, isCovered, simulated }
}

/** The same transaction at no cost, to be simulated only: the allowance that its fee is paid by may not be there yet. */
function withoutFee({ bodyBytes, authInfoBytes, signatures, fee: { gas: gasLimit } }: Tx): Uint8Array {
  const authInfo = { ...AuthInfo.decode(authInfoBytes), fee: Fee.fromPartial({ gasLimit }) }
  return TxRaw.encode({
    bodyBytes,
    authInfoBytes: AuthInfo.encode(authInfo).finish(),
    signatures: [...signatures],
  }).finish()
}
