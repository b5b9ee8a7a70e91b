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

  if (signDirect) {
    const authInfoBytes = writeAuthInfo({ ...key, mode: DIRECT, sequence }, fee)
    const doc = { bodyBytes: body, authInfoBytes, chainId, accountNumber }
    const { signed, signature } = await callSigner(() => signDirect.call(signer, send.from, doc))
    assertUnchanged(toBase64(signed.bodyBytes) === toBase64(body))
    const signedFee = feeIn(signed.authInfoBytes)
    assertGranted(fee.granter, signedFee.granter)
    return { tx: writeTx(body, signed.authInfoBytes, fromBase64(signature.signature)), fee: signedFee }
  }
  if (signAmino) {
    const doc = aminoDocOf(send, transaction)
    const { signed, signature } = await callSigner(() => signAmino.call(signer, send.from, doc))
    assertUnchanged(textOf({ ...signed, fee }) === textOf(doc))
    assertGranted(fee.granter, signed.fee.granter)
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

/** Keplr may replace the fee and drop its granter. The user would then pay the fee, and may hold no coins for it. */
function assertGranted(granter: string | undefined, signed: string | undefined): void {
  if (granter === undefined || granter === signed) return
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
