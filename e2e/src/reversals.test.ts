import { fundWallet, USDC_ADDRESS, usdcAbi } from '@tollgate/devnet'
import { decodeJson, PaymentStatusAnswer } from '@tollgate/protocol'
import { closeAll, startWebhookReceiver } from '@tollgate/testing'
import { Interface, JsonRpcProvider, Transaction, type HDNodeWallet } from 'ethers'
import { readFileSync } from 'node:fs'
import { Webhook } from 'standardwebhooks'
import { newCustomer } from './testing/customers'
import { until } from './testing/paying'
import { startWorld, type World } from './testing/world'

const ETHER = 10n ** 18n
const GWEI = 10n ** 9n

let world: World
let provider: JsonRpcProvider
beforeAll(async () => {
  world = await startWorld()
  provider = new JsonRpcProvider(world.infrastructure.rpcUrl, undefined, { cacheTimeout: -1 })
}, 120_000)
afterAll(async () => {
  provider.destroy()
  await closeAll()
  await world.stop()
}, 30_000)

type Event = { type: string; data: { id: string; reversed_at: string | null; transaction: string } }
type Payload = { payload: { authorization: { from: string; nonce: string } } }

async function post(path: string, headers: Record<string, string>, body?: object): Promise<unknown> {
  const answer = await fetch(`${world.gateway.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    ...(body ? { body: JSON.stringify(body) } : {}),
  })
  return answer.json()
}

/** A signed transaction in which the payer cancels its authorization. */
async function cancellationOf(payer: HDNodeWallet, payment: string): Promise<string> {
  const { from: authorizer, nonce } = (decodeJson(payment) as Payload).payload.authorization
  const CancelAuthorization = [
    { name: 'authorizer', type: 'address' },
    { name: 'nonce', type: 'bytes32' },
  ]
  const domain = { name: 'USDC', version: '2', chainId: 84532, verifyingContract: USDC_ADDRESS }
  const signature = await payer.signTypedData(domain, { CancelAuthorization }, { authorizer, nonce })
  const cancel = 'cancelAuthorization(address,bytes32,bytes)'
  return payer.signTransaction({
    type: 2,
    chainId: 84532,
    nonce: 0,
    to: USDC_ADDRESS,
    data: new Interface([...usdcAbi]).encodeFunctionData(cancel, [authorizer, nonce, signature]),
    gasLimit: 200_000,
    maxFeePerGas: 100n * GWEI,
    maxPriorityFeePerGas: GWEI,
  })
}

/** Replaces the block of a transaction and all later ones. */
async function reorg(transaction: string, instead: readonly string[]) {
  const receipt = await provider.getTransactionReceipt(transaction)
  const depth = (await provider.getBlockNumber()) - (receipt?.blockNumber ?? NaN) + 1
  await provider.send('anvil_reorg', [depth, instead.map((raw) => [raw, 0])])
}

test('a payment that a reorg undoes for good is reported to its wallet and the operator, and again if another reorg brings it back', async () => {
  const receiver = await startWebhookReceiver()
  const { wallet, address, session, pay } = await newCustomer(world, world.plan)
  await fundWallet(world.infrastructure.rpcUrl, address, { usdc: 1_000_000n, wei: ETHER })
  const headers = { authorization: `Bearer ${session.token}` }
  const events = ['payment.settled', 'payment.reversed']
  const { secret } = (await post('/webhooks', headers, { url: receiver.url, events })) as { secret: string }
  const received = async (count: number) =>
    (await receiver.until(count)).map(
      (one) => new Webhook(secret).verify(one.text, one.headers as Record<string, string>) as Event,
    )

  const payment = await pay(await post('/credits', headers))
  const bought = (await post('/credits', { ...headers, 'x-payment': payment })) as { transaction: string }
  const [settled] = await received(1)
  const statusOf = async () =>
    PaymentStatusAnswer.parse(
      await (await fetch(`${world.gateway.url}/payments/${address}/${settled?.data.id}`)).json(),
    )

  const cancellation = await cancellationOf(wallet, payment)
  await reorg(bought.transaction, [cancellation])
  const [, reversed] = await received(2)
  expect(reversed).toMatchObject({
    type: 'payment.reversed',
    data: { id: settled?.data.id, status: 'credited' },
  })
  expect(reversed?.data.reversed_at).not.toBeNull()
  expect(await statusOf()).toMatchObject({
    status: 'credited',
    step: 'credited',
    reversed_at: reversed?.data.reversed_at,
    next: expect.stringMatching(/^Nothing: /) as string,
  })
  const credits = await fetch(`${world.gateway.url}/credits/${address}`)
  expect(await credits.json()).toEqual([
    { pricing_plan_id: world.plan.id, remaining_credits: world.plan.credits },
  ])
  const lines = readFileSync(world.log('gateway'), 'utf8').split('\n')
  expect(lines.filter((line) => line.includes('"payment reversed, final"'))).toHaveLength(1)
  await until(
    async () => (await fetch(world.gateway.metricsUrl)).text(),
    (metrics) => metrics.includes('\ntollgate_payments_reversed 1\n'),
  )

  await reorg(Transaction.from(cancellation).hash ?? '', [])
  const [, , again] = await received(3)
  expect(again).toMatchObject({
    type: 'payment.settled',
    data: { id: settled?.data.id, status: 'credited', reversed_at: null },
  })
  expect(await provider.getTransactionReceipt(again?.data.transaction ?? '')).toMatchObject({ status: 1 })
  expect(await statusOf()).toMatchObject({ step: 'credited', reversed_at: null, next: null })
}, 180_000)
