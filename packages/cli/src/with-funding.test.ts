import { TollgateError } from '@tollgate/wallet'
import { failureOf as toolFailureOf } from './mcp/failure'
import { testPlan } from './testing/plan'
import { withFunding } from './with-funding'

const client = {
  tollgate: { url: 'https://gateway.example' },
  wallet: { address: '0xpayer' },
  plan: () => Promise.resolve(testPlan()),
}

test.each<[string, Record<string, unknown>, string]>([
  ['of the payment', { network: 'cosmos:a-1', asset: 'uatom' }, 'uatom on cosmos:a-1'],
  ['of the plan', {}, 'USDC, 0x036CbD53842c5426634e7929541eC2318f3dCF7e on eip155:84532,'],
])('a refused payment names the wallet to fund, with the asset %s', async (_, details, asset) => {
  const refused = new TollgateError('PAYMENT_REFUSED', 'insufficient_funds', { details })
  expect(await withFunding(refused, [client])).toMatchObject({
    ...{ code: 'PAYMENT_REFUSED', message: 'insufficient_funds', exitCode: 1 },
    advice: expect.stringContaining(`send some of ${asset} to 0xpayer;`) as string,
  })
})

test('a refused payment says until when its signature is valid', async () => {
  const details = { openUntil: Date.parse('2026-11-25T17:57:01Z') / 1000 }
  const refused = new TollgateError('PAYMENT_REFUSED', 'insufficient_funds', { details })
  const sentence =
    'The signed payment stays valid until 17:58 UTC: the next command within its limits sends it.'
  expect(await withFunding(refused, [client])).toMatchObject({
    advice: expect.stringContaining(sentence) as string,
  })
  expect(toolFailureOf(refused).advice).toContain(sentence.replace('command', 'call'))
})

test('a gateway on this machine may have a faucet', async () => {
  const local = { ...client, tollgate: { url: 'http://127.0.0.1:8080' } }
  expect(
    await withFunding(new TollgateError('PAYMENT_REFUSED', 'insufficient_funds'), [local]),
  ).toMatchObject({
    advice: expect.stringContaining('`npm run faucet -- 0xpayer`') as string,
  })
})

test('other errors stay as they are', async () => {
  const error = new TollgateError('LIMIT_REACHED', 'too much')
  expect(await withFunding(error, [client])).toBe(error)
})
