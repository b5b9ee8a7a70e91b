import { type SettleResult, type VerifyResult } from '@tollgate/protocol'
import { type HDNodeWallet, type TypedDataDomain } from 'ethers'
import { newSigner, sharedChain, transactionCount } from './chain'
import { newClient, testFacilitator, type TestOptions } from './facilitator'
import { transferTypes, usdcDomain, type PaymentRequest } from './payment'

/**
 * A facilitator on the chain at `chainUrl`, the shared one unless told, which it may see by another node, and what a payment is
 * held against that must come to nothing.
 */
export async function hostileGround({
  chainUrl = sharedChain(),
  ...options
}: Partial<TestOptions> & { chainUrl?: string } = {}) {
  const signer = await newSigner(chainUrl)
  const facilitator = await testFacilitator({ rpcUrl: chainUrl, signerKeys: [signer.privateKey], ...options })
  const client = await newClient(facilitator.api)

  const post = async (path: string, body: object, headers: object) =>
    (
      await facilitator.api
        .post(path)
        .set({ ...client, ...headers })
        .send(body)
        .expect(200)
    ).body as object
  const verify = async (body: object) => (await post('/api/v1/verify', body, {})) as VerifyResult
  const settle = async (body: object, headers: object = {}) =>
    (await post('/api/v1/settle', body, headers)) as SettleResult
  const claims = () => facilitator.database.prisma.settlement.count()
  const sent = () => transactionCount(chainUrl, signer.address)

  return {
    facilitator,
    signer,
    client,
    verify,
    settle,
    sent,
    /** Verify and settle refuse it with one voice; nothing is claimed, and no gas is spent. */
    async expectRefused(body: object, reason: string): Promise<void> {
      const before = [await claims(), await sent()]
      expect(await verify(body)).toMatchObject({ isValid: false, invalidReason: reason, payer: '' })
      expect(await settle(body)).toMatchObject({
        success: false,
        errorReason: reason,
        transaction: '',
        payer: '',
        blockNumber: 0,
      })
      expect([await claims(), await sent()]).toEqual(before)
    },
  }
}

/** Settlements whose transaction a node has: one that is signed and stored may not be there yet when a block is mined. */
export const SENT = `settlements s join transactions t on t.id = s.transaction_id
  where s.status = 'signed' and t.broadcast_at is not null`

/** Signs the payment anew in another EIP-712 domain: of another chain, another token, or the same under another name. */
export async function signInDomain(
  payer: HDNodeWallet,
  body: PaymentRequest,
  changes: TypedDataDomain,
): Promise<PaymentRequest> {
  const domain = { ...usdcDomain, ...changes }
  const { authorization } = body.paymentPayload.payload
  return withSignature(body, await payer.signTypedData(domain, transferTypes, authorization))
}

/** The same payment under another signature, or another spelling of its own. */
export function withSignature(body: PaymentRequest, signature: string): PaymentRequest {
  const changed = structuredClone(body)
  changed.paymentPayload.payload.signature = signature
  return changed
}

const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n

type Form = (signature: string) => string

/** Forms of one signature that wallets make, and that are taken like the usual one. */
export const walletForms: Record<string, Form> = {
  'v as 0 or 1': (signature) => signature.slice(0, -2) + (signature.endsWith('1b') ? '00' : '01'),
  'the 64 bytes of EIP-2098': (signature) => {
    const bytes = Buffer.from(signature.slice(2, 130), 'hex')
    if (signature.endsWith('1c')) bytes.writeUInt8(bytes.readUInt8(32) | 0x80, 32)
    return `0x${bytes.toString('hex')}`
  },
}

/** Other forms of a signature of 65 bytes that somebody who never had the key can make of it. */
export const twins: Record<string, Form> = {
  'the twin with a high s': (signature) => {
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
  'a word in front': (signature) => `0x${'0'.repeat(64)}${signature.slice(2)}`,
  'itself twice': (signature) => signature + signature.slice(2),
}
