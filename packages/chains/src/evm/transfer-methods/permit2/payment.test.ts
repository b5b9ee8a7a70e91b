import { encodeJson } from '@tollgate/protocol'
import { hexlify, TypedDataEncoder, Wallet } from 'ethers'
import { readPayment } from '../payment'
import { inSeconds, signPayload } from '../../testing/authorization'
import { messageOf, permit2Domain, permitted, signTransfer, transferTypes } from '../../testing/permit2'
import { PERMIT2, PROXY } from './contracts'
import { digestOf, isSettlementCall, settlementCall } from './transfer'

const wallet = Wallet.createRandom()
const terms = { payTo: '0x209693Bc6afc0C5328bA36FaF03C514EF312287C', amount: 10_000n }
const info = {
  from: wallet.address,
  asset: '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
  spender: PERMIT2,
  amount: '10000',
  nonce: '7',
  deadline: inSeconds(120),
  signature: `0x${'ab'.repeat(64)}1b`,
  version: '1',
}

describe('readPayment, of a transfer by Permit2,', () => {
  test('reads the payload of x402, in each of its forms', async () => {
    const payload = await signTransfer(wallet, terms)
    const { nonce, deadline } = payload.permit2Authorization
    const read = {
      kind: 'permit2',
      payer: wallet.address,
      payTo: terms.payTo,
      amount: 10_000n,
      nonce: `permit2 ${nonce}`,
      validAfter: 0n,
      validUntil: BigInt(deadline) + 1n,
      signature: payload.signature,
      spender: PROXY,
      asset: info.asset,
      permitNonce: BigInt(nonce),
      deadline: BigInt(deadline),
    }
    const wrapped = { type: 'permit2', permit2: payload }
    for (const form of [payload, encodeJson(payload), wrapped, encodeJson(wrapped)])
      expect(readPayment(form)).toEqual(read)
  })

  test('reads the token’s permit beside it', async () => {
    const payload = { ...(await signTransfer(wallet, terms)), eip2612GasSponsoring: { info } }
    const { from, asset, spender, amount, nonce, deadline, signature } = info
    expect(permitted(payload).permit).toEqual({
      owner: from,
      asset,
      spender,
      value: BigInt(amount),
      nonce: BigInt(nonce),
      deadline: BigInt(deadline),
      signature,
    })
  })

  test('reads no permit where the server’s word on the extension is sent back', async () => {
    const echo = { info: { description: 'Permits are taken', version: '1' }, schema: { type: 'object' } }
    const payload = await signTransfer(wallet, terms)
    expect(readPayment({ ...payload, eip2612GasSponsoring: echo })).toEqual(readPayment(payload))
  })

  test('never takes one for a payment of another kind, nor its nonce for one of another kind', async () => {
    const transfer = await signTransfer(wallet, terms)
    const authorization = await signPayload(wallet, terms)
    expect(readPayment({ ...authorization, ...transfer })).toBeUndefined()
    const nonce = BigInt(authorization.authorization.nonce).toString()
    const same = await signTransfer(wallet, terms, { nonce })
    expect(readPayment(same)?.nonce).not.toBe(readPayment(authorization)?.nonce)
  })

  test.each<[string, object]>([
    ['another version of the extension', { version: '2' }],
    ['no signature', { signature: '0x' }],
    ['a signature of no key', { signature: `0x${'ab'.repeat(65)}` }],
    ['no nonce', { nonce: undefined }],
    ['a negative amount', { amount: '-1' }],
    ['no address', { spender: '0x' }],
  ])('takes a permit with %s for none', async (_, changes) => {
    const transfer = await signTransfer(wallet, terms)
    const sponsored = { ...transfer, eip2612GasSponsoring: { info: { ...info, ...changes } } }
    expect(readPayment(sponsored)).toBeUndefined()
  })

  test.each<[string, object]>([
    ['nonce', { nonce: '0x1' }],
    ['nonce', { nonce: '01' }],
    ['nonce', { nonce: (2n ** 256n).toString() }],
    ['deadline', { deadline: '1e9' }],
    ['witness', { witness: { to: terms.payTo } }],
    ['permitted', { permitted: { amount: '1' } }],
    ['from', { from: '0x' }],
    ['spender', { spender: undefined }],
  ])('takes a payload with another %s for none', async (_, changes) => {
    const { signature, permit2Authorization } = await signTransfer(wallet, terms)
    expect(
      readPayment({ signature, permit2Authorization: { ...permit2Authorization, ...changes } }),
    ).toBeUndefined()
  })
})

test('the digest is that of ethers', async () => {
  for (let i = 0; i < 20; i++) {
    const payload = await signTransfer(wallet, { ...terms, amount: BigInt(i) ** 20n })
    expect(hexlify(digestOf(permitted(payload), '84532'))).toBe(
      TypedDataEncoder.hash(permit2Domain, transferTypes, messageOf(payload.permit2Authorization)),
    )
  }
})

describe('isSettlementCall', () => {
  test('knows the call by nonce, payer, asset, amount and recipient, with a permit or without', async () => {
    const payload = await signTransfer(wallet, terms)
    const payment = permitted(payload)
    const sponsored = permitted({ ...payload, eip2612GasSponsoring: { info } })
    const [plain, withPermit] = [settlementCall(payment), settlementCall(sponsored)]
    expect(plain.slice(0, 10)).not.toBe(withPermit.slice(0, 10))
    const address = Wallet.createRandom().address
    const others = [
      { ...payment, permitNonce: payment.permitNonce + 1n },
      { ...payment, payer: address },
      { ...payment, asset: address },
      { ...payment, amount: 1n },
      { ...payment, payTo: address },
    ]
    for (const input of [plain, withPermit]) {
      expect(isSettlementCall({ to: PROXY.toLowerCase(), input }, payment)).toBe(true)
      expect(isSettlementCall({ to: PERMIT2, input }, payment)).toBe(false)
      expect(isSettlementCall({ to: PROXY, input: `0x12345678${input.slice(10)}` }, payment)).toBe(false)
      for (const other of others) expect(isSettlementCall({ to: PROXY, input }, other)).toBe(false)
    }
    expect(isSettlementCall({ to: PROXY, input: plain.slice(0, 300) }, payment)).toBe(false)
  })
})
