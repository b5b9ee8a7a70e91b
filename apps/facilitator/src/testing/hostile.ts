import { type BaseWallet, type TypedDataDomain } from 'ethers'
import { transferTypes, usdcDomain, type PaymentRequest } from './payment'

export const SENT = `settlements s JOIN transactions t ON t.id = s.transaction_id
  WHERE s.status = 'signed' AND t.accepted_at IS NOT NULL`

export async function signInDomain(
  payer: BaseWallet,
  body: PaymentRequest,
  changes: TypedDataDomain,
): Promise<PaymentRequest> {
  const domain = { ...usdcDomain, ...changes }
  const { authorization } = body.paymentPayload.payload
  return withSignature(body, await payer.signTypedData(domain, transferTypes, authorization))
}

export function withSignature(body: PaymentRequest, signature: string): PaymentRequest {
  const changed = structuredClone(body)
  changed.paymentPayload.payload.signature = signature
  return changed
}

const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n

type Form = (signature: string) => string

export const walletForms: Record<string, Form> = {
  'v as 0 or 1': (signature) => signature.slice(0, -2) + (signature.endsWith('1b') ? '00' : '01'),
  'the 64 bytes of EIP-2098': (signature) => {
    const bytes = Buffer.from(signature.slice(2, 130), 'hex')
    if (signature.endsWith('1c')) bytes.writeUInt8(bytes.readUInt8(32) | 0x80, 32)
    return `0x${bytes.toString('hex')}`
  },
}

/** Encodings of a signature that anyone can derive without the key. */
export const malleatedForms: Record<string, Form> = {
  'the high-s form': (signature) => {
    const s = (ORDER - BigInt(`0x${signature.slice(66, 130)}`)).toString(16).padStart(64, '0')
    return signature.slice(0, 66) + s + (signature.endsWith('1b') ? '1c' : '1b')
  },
  'v by EIP-155': (signature) => signature.slice(0, -2) + (signature.endsWith('1b') ? '25' : '26'),
  'the 64 bytes of EIP-2098 with the other parity': (signature) => {
    const bytes = Buffer.from(signature.slice(2, 130), 'hex')
    if (signature.endsWith('1b')) bytes.writeUInt8(bytes.readUInt8(32) | 0x80, 32)
    return `0x${bytes.toString('hex')}`
  },
  '63 bytes': (signature) => signature.slice(0, 128),
  '66 bytes': (signature) => `${signature}00`,
  '32 zero bytes in front': (signature) => `0x${'0'.repeat(64)}${signature.slice(2)}`,
  'the signature twice': (signature) => signature + signature.slice(2),
}
