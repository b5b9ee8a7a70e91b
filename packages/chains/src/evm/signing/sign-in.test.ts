import { Wallet } from 'ethers'
import { privateKeyToAccount } from 'viem/accounts'
import { signPayload, transferTypes, usdcDomain } from '../testing/authorization'
import { bitFlips, compact, highTwin } from '../testing/signatures'
import { verifySignIn } from './sign-in'

const wallet = new Wallet('0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d')
const { address } = wallet
const message = `Tollgate wants you to sign in.\n\nAddress: ${address}\nNonce: 8f2c\nIssued At: 2026-11-21T10:00:00Z`

describe('verifySignIn', () => {
  test('takes a known signature', () =>
    expect(
      verifySignIn({
        message: 'hello world',
        address: '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
        signature:
          '0xa461f509887bd19e312c0c58467ce8ff8e300d3c1a90b608a760c5b80318eaf15fe57c96f9175d6cd4daad4663763baa7e78836e067d0163e9a2ccf2ff753f5b1b',
      }),
    ).toBe(true))

  test.each(['', message, 'ä, 字, 🦊', '0xabcdef', 'a'.repeat(4096), 'with\r\nand \0'])(
    'takes what the wallets of ethers and viem sign: %j',
    async (text) => {
      const account = privateKeyToAccount(wallet.privateKey as `0x${string}`)
      for (const signature of [await wallet.signMessage(text), await account.signMessage({ message: text })])
        expect(verifySignIn({ message: text, address, signature })).toBe(true)
    },
  )

  test('takes an address in any letter case, v as 0 or 1, 64 bytes (EIP-2098), and hex without a prefix', async () => {
    const signature = await wallet.signMessage(message)
    const v = signature.endsWith('1b') ? '00' : '01'
    expect(verifySignIn({ message, address: address.toLowerCase(), signature })).toBe(true)
    for (const form of [signature, signature.slice(0, -2) + v, compact(signature)])
      for (const written of [form, form.slice(2), form.slice(2).toUpperCase()])
        expect([written, verifySignIn({ message, address, signature: written })]).toEqual([written, true])
  })

  test('refuses a signature with any one bit flipped', async () => {
    const signature = await wallet.signMessage(message)
    for (const flipped of bitFlips(signature))
      expect(verifySignIn({ message, address, signature: flipped })).toBe(false)
  })

  test('refuses another message, and another address', async () => {
    const signature = await wallet.signMessage(message)
    expect(verifySignIn({ message: `${message} `, address, signature })).toBe(false)
    expect(verifySignIn({ message, address: Wallet.createRandom().address, signature })).toBe(false)
    expect(verifySignIn({ message, address: '', signature })).toBe(false)
  })

  test('refuses the high-s twin, and every other shape', async () => {
    const signature = await wallet.signMessage(message)
    for (const other of [
      highTwin(signature),
      `0x0x${signature.slice(2)}`,
      ` ${signature}`,
      `${signature}00`,
      signature.slice(0, -2),
      compact(signature).slice(0, -2),
      `${signature.slice(0, -2)}1d`,
      `${signature.slice(0, -2)}25`,
      `0x${'0'.repeat(130)}`,
      `0x${'0'.repeat(128)}1b`,
      '0x',
      '',
    ])
      expect([other, verifySignIn({ message, address, signature: other })]).toEqual([other, false])
  })

  test('refuses what the wallet signed for another purpose', async () => {
    const { signature, authorization } = await signPayload(wallet, {
      payTo: usdcDomain.verifyingContract as string,
      amount: 1n,
    })
    const typed = await wallet.signTypedData(usdcDomain, transferTypes, authorization)
    const raw = wallet.signingKey.sign(Buffer.from('ab'.repeat(32), 'hex')).serialized
    for (const other of [signature, typed, raw])
      expect(verifySignIn({ message: JSON.stringify(authorization), address, signature: other })).toBe(false)
  })
})
