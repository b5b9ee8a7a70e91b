import fc from 'fast-check'
import { SigningKey, Transaction } from 'ethers'
import { createKeySigner } from '../../signers/key-signer'
import { evmScheme } from '../signing/scheme'
import { encodeUnsigned, signTransaction } from './signed-transaction'

const privateKey = `0x${'46'.repeat(32)}`
const key = new SigningKey(privateKey)
const signer = createKeySigner(privateKey, evmScheme)
const amount = fc.bigInt({ min: 0n, max: 2n ** 96n })
const data = fc
  .oneof(fc.uint8Array({ maxLength: 60 }), fc.uint8Array({ minLength: 250, maxLength: 300 }))
  .map((bytes) => `0x${Buffer.from(bytes).toString('hex')}`)

describe('signTransaction', () => {
  test('gives the bytes and the hash that ethers gives', async () => {
    const transaction = fc
      .record({
        chainId: fc.bigInt({ min: 1n, max: 2n ** 53n - 1n }),
        nonce: fc.bigInt({ min: 0n, max: 2n ** 40n }),
        maxPriorityFeePerGas: amount,
        maxFeePerGas: amount,
        gasLimit: fc.bigInt({ min: 0n, max: 2n ** 40n }),
        to: fc.constant('0xcA11bde05977b3631167028862bE2a173976CA11'),
        data,
      })
      // Ethers refuses a tip above the maximum fee.
      .map((one) => ({ ...one, maxFeePerGas: one.maxFeePerGas + one.maxPriorityFeePerGas }))
    await fc.assert(
      fc.asyncProperty(transaction, async (one) => {
        const signed = await signTransaction(encodeUnsigned(one), signer)
        const same = Transaction.from({ ...one, type: 2, nonce: Number(one.nonce) })
        same.signature = key.sign(same.unsignedHash)
        expect(signed).toEqual({ raw: same.serialized, hash: same.hash })
      }),
    )
  })

  test('encodes data of a hundred kilobytes', async () => {
    const long = { chainId: 1n, nonce: 0n, maxPriorityFeePerGas: 1n, maxFeePerGas: 2n, gasLimit: 3n }
    const to = `0x${'11'.repeat(20)}`
    const unsigned = encodeUnsigned({ ...long, to, data: `0x${'ab'.repeat(100_000)}` })
    const signed = await signTransaction(unsigned, signer)
    expect(Transaction.from(signed.raw)).toMatchObject({ hash: signed.hash, gasLimit: 3n })
  })
})
