import { TollgateError } from '../../errors.js'
import { fromBase64, toBase64 } from './base64.js'
import { type AminoDoc, callSigner, type CosmosSigner, type Fee } from './signer.js'
import {
  AMINO,
  aminoDocOf,
  DIRECT,
  readFee,
  type Send,
  writeAuthInfo,
  writeBody,
  writeTx,
} from './transaction.js'

type Transaction = Parameters<typeof aminoDocOf>[1] & {
  send: Send
  key: { keyType: string; pubkey: Uint8Array }
}

type Signed = { tx: Uint8Array; fee: Fee }

/** A wallet may change the fee that its account pays, and nothing else: `fee` is the one that it signed. */
export async function signTransaction(signer: CosmosSigner, transaction: Transaction): Promise<Signed> {
  const { send, key, chainId, accountNumber, sequence, fee, timeoutHeight } = transaction
  const body = writeBody(send, { timeoutHeight })
  const { signDirect, signAmino } = signer

  // What `signDirect` signs holds the keys and sequences of all signers, of which this wallet knows only its own.
  const isSignedByTwo = fee.payer !== undefined
  if (signDirect && !isSignedByTwo) {
    const authInfoBytes = writeAuthInfo({ ...key, mode: DIRECT, sequence }, fee)
    const doc = { bodyBytes: body, authInfoBytes, chainId, accountNumber }
    const { signed, signature } = await callSigner(() => signDirect.call(signer, send.from, doc))
    assertUnchanged(toBase64(signed.bodyBytes) === toBase64(body))
    const signedFee = feeIn(signed.authInfoBytes)
    assertSponsored(fee, signedFee)
    return { tx: writeTx(body, signed.authInfoBytes, fromBase64(signature.signature)), fee: signedFee }
  }
  if (signAmino) {
    const doc = aminoDocOf(send, transaction)
    const { signed, signature } = await callSigner(() => signAmino.call(signer, send.from, doc))
    assertUnchanged(textOf({ ...signed, fee }) === textOf(doc))
    assertSponsored(fee, signed.fee)
    const authInfo = writeAuthInfo({ ...key, mode: AMINO, sequence }, signed.fee)
    return { tx: writeTx(body, authInfo, fromBase64(signature.signature)), fee: feeIn(authInfo) }
  }
  throw new TollgateError('WALLET_UNSUPPORTED', 'The signer has neither signDirect nor signAmino')
}

function feeIn(authInfo: Uint8Array): Fee {
  try {
    return readFee(authInfo)
  } catch (cause) {
    throw new TollgateError('SIGNATURE_REFUSED', 'The wallet signed a fee that is none of one coin', {
      cause,
    })
  }
}

function assertUnchanged(isSame: boolean): void {
  if (isSame) return
  throw new TollgateError('SIGNATURE_REFUSED', 'The wallet signed another transaction than this payment')
}

/** A wallet may replace the fee and drop who pays it. The user would then pay it, and may hold no coins for it. */
function assertSponsored({ granter, payer }: Fee, signed: Fee): void {
  if ((granter ?? signed.granter) === signed.granter && (payer ?? signed.payer) === signed.payer) return
  throw new TollgateError(
    'SIGNATURE_REFUSED',
    'The wallet dropped the account that pays the fee: pass keplr.getOfflineSigner(chainId, { preferNoSetFee: true })',
  )
}

/** With every member in one order, at each level. */
const textOf = (doc: AminoDoc): string =>
  JSON.stringify(doc, (_, value: unknown) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)))
      : value,
  )
