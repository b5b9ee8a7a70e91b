import { families } from '@tollgate/chains'
import { GAS_SPONSORING, signedPayloadOf } from '@tollgate/protocol'
import {
  declareEip2612GasSponsoringExtension,
  extractEip2612GasSponsoringInfo,
  validateEip2612GasSponsoringInfo,
} from '@x402/extensions'
import { publicPayment } from '../testing/public-client'
import { declareGasSponsoring } from './gas-sponsoring'

const permit2 = { extra: { name: 'USDC', version: '2', assetTransferMethod: 'permit2' } }
const eip3009 = { extra: { name: 'USDC', version: '2' } }

test('is declared as the public package declares it, with a shorter schema', () => {
  const [publicDeclaration] = Object.values(declareEip2612GasSponsoringExtension())
  const { info } = publicDeclaration as { info: object }
  expect(declareGasSponsoring([eip3009, permit2])).toEqual({
    [GAS_SPONSORING]: { info, schema: expect.objectContaining({ type: 'object' }) as object },
  })
})

test('is not declared if no entry is paid by Permit2', () => {
  expect(declareGasSponsoring([eip3009, {}, { extra: null }])).toEqual({})
})

const account = (digit: string) => `0x${digit.repeat(40)}`
const accepted = {
  scheme: 'exact',
  network: 'eip155:84532',
  amount: '10000',
  asset: account('a'),
  payTo: account('b'),
  maxTimeoutSeconds: 60,
  ...permit2,
}
const transfer = {
  signature: `0x${'11'.repeat(64)}1b`,
  permit2Authorization: {
    from: account('c'),
    permitted: { token: accepted.asset, amount: accepted.amount },
    spender: account('d'),
    nonce: '7',
    deadline: '1800000000',
    witness: { to: accepted.payTo, validAfter: '0' },
  },
}
const permit = {
  from: account('c'),
  asset: accepted.asset,
  spender: account('e'),
  amount: '10000',
  nonce: '0',
  deadline: '1800000000',
  signature: `0x${'22'.repeat(64)}1c`,
  version: '1',
}

const paymentFor = (extensions?: Record<string, unknown>) =>
  publicPayment(
    {
      x402Version: 2,
      resource: { url: 'https://gateway.example/v1/base-sepolia' },
      accepts: [accepted],
      extensions: { ...declareGasSponsoring([accepted]) },
    },
    { payload: transfer, ...(extensions && { extensions }) },
  )

test('the permit that the public client returns is part of the payment that we read', async () => {
  const sent = await paymentFor({ [GAS_SPONSORING]: { info: permit } })
  expect(validateEip2612GasSponsoringInfo(extractEip2612GasSponsoringInfo(sent)!)).toBe(true)
  expect(families.evm?.readPayment(signedPayloadOf(sent))).toMatchObject({
    payer: families.evm?.parseAddress(permit.from),
    permit: { value: 10_000n, signature: permit.signature },
  })
  expect(families.evm?.readPayment(sent.payload)).not.toHaveProperty('permit')
})

test('a client that needs no permit returns the declaration, which is no permit', async () => {
  const payment = families.evm?.readPayment(signedPayloadOf(await paymentFor()))
  expect(payment).toMatchObject({ amount: 10_000n })
  expect(payment).not.toHaveProperty('permit')
})
