import { wrapSignature } from '@tollgate/devnet'
import { Wallet } from 'ethers'
import { families } from '../../families'
import type { Terms } from '../../family'
import { signPayload, usdc, inSeconds } from '../testing/authorization'
import { signTransfer } from '../testing/permit2'
import { transferFor } from '../testing/raw-transfer'

const wallet = new Wallet(Wallet.createRandom().privateKey)
const stranger = Wallet.createRandom().address
const terms: Terms = { token: usdc, payTo: Wallet.createRandom().address, amount: 10_000n }
const { asset, symbol, decimals } = usdc
const unnamed: Terms = { ...terms, token: { asset, symbol, decimals } }

const check = (payload: unknown, expected = terms, chainId = '84532') => {
  const payment = families.evm?.readPayment(payload)
  if (!payment) throw new Error('The payload cannot be read')
  const result = families.evm?.checkOffline(payment, expected, { chainId, now: new Date() })
  return result && ('reason' in result ? result.reason : result.signature)
}
const raw = (changes: object = {}) => wallet.signTransaction(transferFor(terms, changes))
const forged = async (signed: Promise<object>) => ({ ...(await signed), signature: `0x${'11'.repeat(64)}1b` })

async function wrapped(signed: Promise<{ signature: string }>) {
  const payload = await signed
  return { ...payload, signature: wrapSignature(stranger, '0x', payload.signature) }
}

describe('what can be said of a payment without its network', () => {
  test.each<[string, () => Promise<unknown>, string]>([
    ['an authorization', () => signPayload(wallet, terms), 'valid'],
    ['an authorization with another signature', () => forged(signPayload(wallet, terms)), 'not-by-key'],
    [
      'one of another amount',
      () => signPayload(wallet, { ...terms, amount: 1n }),
      'invalid_exact_evm_payload_authorization_value',
    ],
    [
      'one to another',
      () => signPayload(wallet, { ...terms, payTo: stranger }),
      'invalid_exact_evm_payload_recipient_mismatch',
    ],
    [
      'one that has ended',
      () => signPayload(wallet, terms, { validBefore: inSeconds(-1) }),
      'invalid_exact_evm_payload_authorization_valid_before',
    ],
    [
      'one that ends in a moment, which a facilitator judges',
      () => signPayload(wallet, terms, { validBefore: inSeconds(3) }),
      'valid',
    ],
    ['one in a wrapper, as only contracts make it', () => wrapped(signPayload(wallet, terms)), 'not-by-key'],
    [
      'one in two wrappers',
      () => wrapped(wrapped(signPayload(wallet, terms))),
      'invalid_exact_evm_payload_signature',
    ],
    ['a transfer by Permit2', () => signTransfer(wallet, terms), 'valid'],
    ['such a transfer with another signature', () => forged(signTransfer(wallet, terms)), 'not-by-key'],
    ['such a transfer in a wrapper', () => wrapped(signTransfer(wallet, terms)), 'not-by-key'],
    [
      'one of another asset',
      () => signTransfer(wallet, terms, { permitted: { token: stranger, amount: '10000' } }),
      'invalid_payment',
    ],
    ['one for another spender', () => signTransfer(wallet, terms, { spender: stranger }), 'invalid_payment'],
    ['a whole transaction', () => raw(), 'valid'],
    ['one of another asset', () => raw({ to: stranger }), 'invalid_payment'],
    ['one for another chain', () => raw({ chainId: 1 }), 'invalid_network'],
  ])('%s', async (_, sign, expected) => expect(check(await sign())).toBe(expected))

  test('a signature for another chain is not by the key; without the token’s domain it is unknown', async () => {
    expect(check(await signPayload(wallet, terms), terms, '1')).toBe('not-by-key')
    expect(check(await signPayload(wallet, terms), unnamed)).toBe('unknown')
    expect(check(await signTransfer(wallet, terms), unnamed)).toBe('valid')
  })
})
