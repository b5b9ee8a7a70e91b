import { encodeJson } from '@tollgate/protocol'
import { Wallet } from 'ethers'
import { readPayment } from './payment'
import { signPayload } from '../testing/authorization'

const wallet = Wallet.createRandom()
const payTo = '0x209693Bc6afc0C5328bA36FaF03C514EF312287C'
const valid = () => signPayload(wallet, { payTo, amount: 10_000n })
const base64url = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')

describe('readPayment', () => {
  test('reads the payload of x402, in each of its forms', async () => {
    const payload = await valid()
    const { authorization, signature } = payload
    const read = {
      kind: 'eip3009',
      payer: wallet.address,
      payTo,
      amount: 10_000n,
      nonce: authorization.nonce,
      validAfter: BigInt(authorization.validAfter),
      validBefore: BigInt(authorization.validBefore),
      validUntil: BigInt(authorization.validBefore),
      signature,
    }
    const wrapped = { type: 'eip3009', eip3009: payload }
    for (const form of [payload, encodeJson(payload), base64url(payload), wrapped, encodeJson(wrapped)])
      expect(readPayment(form)).toEqual(read)
  })

  test('spells one authorization one way, whatever the letter case', async () => {
    const { authorization, signature } = await valid()
    const { from, to, nonce } = authorization
    const shouting = {
      signature: signature.toUpperCase().replace('X', 'x'),
      authorization: {
        ...authorization,
        from: from.toLowerCase(),
        to: to.toUpperCase(),
        nonce: nonce.toUpperCase().replace('X', 'x'),
      },
    }
    expect(readPayment(shouting)).toEqual(readPayment({ signature, authorization }))
  })

  test.each([
    '1e4',
    '0x10',
    ' 10 ',
    '-0',
    '-1',
    '+5',
    '1.0',
    '',
    '010',
    '１０',
    10,
    10n,
    null,
    `1${'0'.repeat(80)}`,
    (2n ** 256n).toString(),
  ])('takes %p for no number', async (number) => {
    const { authorization, signature } = await valid()
    for (const field of ['value', 'validAfter', 'validBefore'])
      expect(readPayment({ signature, authorization: { ...authorization, [field]: number } })).toBeUndefined()
  })

  test('reads the largest uint256', async () => {
    const { authorization, signature } = await valid()
    const value = (2n ** 256n - 1n).toString()
    expect(readPayment({ signature, authorization: { ...authorization, value } })?.amount).toBe(
      2n ** 256n - 1n,
    )
  })

  test.each([
    ['nonce', '0x12'],
    ['nonce', `0x${'g'.repeat(64)}`],
    ['nonce', 'a'.repeat(66)],
    ['nonce', 5],
    ['from', '0x'],
    ['from', undefined],
    ['to', 'cosmos1zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3cnwz4d'],
  ])('takes a payload with %s %p for none', async (field, value) => {
    const { authorization, signature } = await valid()
    expect(readPayment({ signature, authorization: { ...authorization, [field]: value } })).toBeUndefined()
  })

  test.each(['0x1', 'ab', '0xzz', `0x${'ab'.repeat(8193)}`, 1, null])(
    'takes signature %p for none',
    async (signature) => expect(readPayment({ ...(await valid()), signature })).toBeUndefined(),
  )

  test.each([
    undefined,
    null,
    '',
    'AAAA',
    'not base64!',
    '{"signature":"0x"}',
    encodeJson('text'),
    encodeJson([]),
    [],
    {},
    { type: 'rawTx', rawTx: '0x02f8' },
    { type: 'rawTx' },
    '0x',
    '0x02f8',
    { __proto__: { signature: '0x' } },
    Buffer.from('['.repeat(10_000) + ']'.repeat(10_000)).toString('base64'),
  ])('answers undefined for what is no payload', (payload) => expect(readPayment(payload)).toBeUndefined())
})
