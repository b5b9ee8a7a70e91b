import { decodeJson } from '@tollgate/protocol'
import { HTTPFacilitatorClient } from '@x402/core/server'
import { PaymentRequiredV2Schema } from '@x402/core/schemas'
import { type PaymentPayload } from '@x402/core/types'
import {
  extractDiscoveryInfo,
  validateDiscoveryExtension,
  withBazaar,
  type DiscoveryExtension,
} from '@x402/extensions/bazaar'
import {
  decodeSignedOffers,
  extractOffersFromPaymentRequired,
  extractReceiptFromResponse,
  findAcceptsObjectFromSignedOffer,
  verifyOfferSignatureJWS,
  verifyReceiptMatchesOffer,
  verifyReceiptSignatureJWS,
  type JWSSignedOffer,
  type JWSSignedReceipt,
} from '@x402/extensions/offer-receipt'
import { appendPaymentIdentifierToExtensions, generatePaymentId } from '@x402/extensions/payment-identifier'
import { wrapFetchWithSIWx } from '@x402/extensions/sign-in-with-x'
import { wrapFetchWithPayment } from '@x402/fetch'
import { type Hex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { expectPaidOnce, expectUsed, requiredIn } from './testing/expect-payment'
import { killGateway } from './testing/kill-gateway'
import { until } from './testing/paying'
import { plainBlockNumber, plainUrl, postJson, postOf } from './testing/plain-calls'
import { payingClient, paymentIn, publicPayers, receiptOf, recording } from './testing/public-payers'
import { queryNode } from './testing/query-node'
import { startObservedWorld, type ObservedWorld } from './testing/observed-world'

let world: ObservedWorld
let url: string

beforeAll(async () => {
  world = await startObservedWorld()
  url = plainUrl(world, world.plan.chain_id)
}, 120_000)
afterAll(() => world.stop(), 30_000)

const asked = postOf(plainBlockNumber)
const isBlockNumber: unknown = expect.objectContaining({
  id: 7,
  result: expect.stringMatching(/^0x/) as string,
})

describe.each(publicPayers)('$name pays without a token', ({ pay }) => {
  test('and is served in one go; its payment serves no second call', async () => {
    const { address, privateKey } = await world.newPayer()
    const sent: Headers[] = []
    const { status, body, receipt } = await pay(url, privateKey, { json: plainBlockNumber, sent })
    expect([status, JSON.parse(body)]).toEqual([200, isBlockNumber])
    expect(receipt).toMatchObject({ success: true, payer: address })
    await expectPaidOnce(world, address, { transaction: receipt.transaction })

    await expectUsed(world, { url, json: plainBlockNumber, payment: paymentIn(sent) })
    await expectPaidOnce(world, address, { transaction: receipt.transaction })
  })
})

/** The facilitator lists what was paid a moment after the payment, for clients of both versions. */
async function findListed() {
  const { bazaar } = withBazaar(new HTTPFacilitatorClient({ url: world.facilitator.url })).extensions
  const { items } = await until(
    () => bazaar.listResources({ type: 'http', payTo: world.plan.pay_to }),
    (page) => page.items.length > 0,
  )
  const first = await fetch(
    `${world.facilitator.url}/discovery/resources?x402Version=1&payTo=${world.plan.pay_to}`,
  )
  expect((await first.json()) as object).toMatchObject({ items: [{ resource: items[0]!.resource }] })
  return items
}

test('@x402/extensions finds the URL of a chain in the list, and @x402/fetch pays it by its entry alone', async () => {
  await wrapFetchWithPayment(fetch, payingClient((await world.newPayer()).privateKey))(url, asked)
  const [item, ...others] = await findListed()
  expect(others).toEqual([])
  expect(item).toMatchObject({ resource: `${world.gateway.url}/v1/eip155:84532`, x402Version: 2 })
  const declared = item!.extensions!['bazaar'] as DiscoveryExtension
  expect(validateDiscoveryExtension(declared)).toEqual({ valid: true })
  const { method, body } = declared.info.input as { method: string; body: object }

  const { address, privateKey } = await world.newPayer()
  const request = { method, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
  const paid = await wrapFetchWithPayment(fetch, payingClient(privateKey))(item!.resource, request)
  expect([paid.status, await paid.json()]).toMatchObject([
    200,
    { result: expect.stringMatching(/^0x/) as string },
  ])
  await expectPaidOnce(world, address, { transaction: receiptOf(paid).transaction })
})

test('@x402/fetch without ether pays by Permit2, with the permit in the extension of the specification', async () => {
  const { address, privateKey } = await world.newPayer()
  const client = payingClient(privateKey, {
    rpcUrl: world.infrastructure.rpcUrl,
    select: (_version, accepts) =>
      accepts.find(({ extra }) => extra['assetTransferMethod'] === 'permit2') ?? accepts[0]!,
  })
  const sent: Headers[] = []
  const answer = await wrapFetchWithPayment(recording(sent), client)(url, asked)
  expect([answer.status, await answer.json()]).toEqual([200, isBlockNumber])
  const header = paymentIn(sent)
  expect(decodeJson(header['payment-signature'] ?? '')).toMatchObject({
    accepted: { extra: { assetTransferMethod: 'permit2' } },
    payload: { permit2Authorization: { from: address } },
    extensions: {
      eip2612GasSponsoring: { info: { from: address, signature: expect.any(String) as string } },
    },
  })
  const { transaction } = receiptOf(answer)
  await expectPaidOnce(world, address, { transaction })
  await expectUsed(world, { url, json: plainBlockNumber, payment: header })
  await expectPaidOnce(world, address, { transaction })
})

describe('wrapFetchWithSIWx', () => {
  test('signs in and spends the credits that a payment left; without any it gets the price', async () => {
    const { address, privateKey } = await world.newPayer()
    const signingIn = wrapFetchWithSIWx(fetch, privateKeyToAccount(privateKey as Hex))
    expect((await signingIn(url, asked)).status).toBe(402)

    const paid = await wrapFetchWithPayment(fetch, payingClient(privateKey))(url, asked)
    const { transaction } = receiptOf(paid)
    for (const calls of [2, 3]) {
      const served = await signingIn(url, asked)
      expect([served.status, await served.json()]).toEqual([200, isBlockNumber])
      expect(served.headers.has('payment-response')).toBe(false)
      await expectPaidOnce(world, address, { transaction, calls })
    }
  })

  test('inside wrapFetchWithPayment pays once, and then signs in', async () => {
    const { address, privateKey } = await world.newPayer()
    const sent: Headers[] = []
    const agent = wrapFetchWithPayment(
      wrapFetchWithSIWx(recording(sent), privateKeyToAccount(privateKey as Hex)) as typeof fetch,
      payingClient(privateKey),
    )
    const answers = [await agent(url, asked), await agent(url, asked), await agent(url, asked)]
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
    paymentIn(sent)
    const { transaction } = receiptOf(answers[0]!)
    await expectPaidOnce(world, address, { transaction, calls: 3 })
  })
})

describe('the 402', () => {
  test.each(['GET', 'POST'])(
    'of a %s is for clients of both versions, and catalogued by the public package',
    async (method) => {
      const answer = await fetch(url, { method })
      expect([answer.status, await answer.json()]).toMatchObject([
        402,
        { x402Version: 1, accepts: [{ network: world.plan.network, maxAmountRequired: world.plan.amount }] },
      ])
      const required = requiredIn(answer)
      expect(PaymentRequiredV2Schema.parse(required)).toEqual(required)
      expect(required.accepts.map(({ network, extra }) => [network, extra['assetTransferMethod']])).toEqual([
        ['eip155:84532', undefined],
        ['eip155:84532', 'permit2'],
        [`cosmos:${world.cosmosPlan.chain_id}`, undefined],
      ])
      const { resource, extensions } = required
      expect(validateDiscoveryExtension(extensions!['bazaar'] as DiscoveryExtension)).toEqual({ valid: true })
      const [accepted] = required.accepts
      const payment: PaymentPayload = {
        x402Version: 2,
        resource,
        accepted: accepted!,
        payload: {},
        extensions: extensions!,
      }
      expect(extractDiscoveryInfo(payment, accepted!)).toMatchObject({
        resourceUrl: `${world.gateway.url}/v1/eip155:84532`,
        method: 'POST',
      })
    },
  )

  test('has signed offers, and the payment a signed receipt: the public package finds the key and verifies both', async () => {
    const { address, privateKey } = await world.newPayer()
    const required = requiredIn(await postJson(url, plainBlockNumber))
    const signed = extractOffersFromPaymentRequired(required) as JWSSignedOffer[]
    for (const offer of signed) await verifyOfferSignatureJWS(offer)
    const offers = decodeSignedOffers(signed)
    expect(offers.map((offer) => findAcceptsObjectFromSignedOffer(offer, required.accepts))).toEqual([
      required.accepts[0],
    ])

    const paid = await wrapFetchWithPayment(fetch, payingClient(privateKey))(url, asked)
    expect(paid.status).toBe(200)
    const receipt = extractReceiptFromResponse(paid) as JWSSignedReceipt
    expect(await verifyReceiptSignatureJWS(receipt)).toMatchObject({
      payer: address,
      resourceUrl: required.resource.url,
    })
    expect(verifyReceiptMatchesOffer(receipt, offers[0]!, [address])).toBe(true)
  })
})

describe('a payment identifier', () => {
  const mine = () => queryNode(world.infrastructure.rpcUrl, 'evm_mine')

  /** Pays for a call, and returns the header of the payment. */
  async function payAs(privateKey: string, paymentId: string) {
    const client = payingClient(privateKey)
    client.onBeforePaymentCreation(({ paymentRequired }) => {
      appendPaymentIdentifierToExtensions(paymentRequired.extensions!, paymentId)
      return Promise.resolve()
    })
    const sent: Headers[] = []
    const answer = await wrapFetchWithPayment(recording(sent), client)(url, asked)
    return { status: answer.status, body: await answer.text(), header: paymentIn(sent), answer }
  }

  test('with the same request gets the same answer; with another request or payment it is 409', async () => {
    const { address, privateKey } = await world.newPayer()
    const paymentId = generatePaymentId()
    const first = await payAs(privateKey, paymentId)
    const { transaction } = receiptOf(first.answer)
    expect(first.status).toBe(200)
    await world.ledger.settled(30)
    await mine()

    const again = await postJson(url, plainBlockNumber, first.header)
    expect([again.status, await again.text()]).toEqual([200, first.body])
    const other = await postJson(url, { ...plainBlockNumber, method: 'eth_chainId' }, first.header)
    expect([other.status, await other.json()]).toMatchObject([409, { code: 'CONFLICT' }])
    const otherPayment = await payAs(privateKey, paymentId)
    expect([otherPayment.status, JSON.parse(otherPayment.body)]).toMatchObject([409, { code: 'CONFLICT' }])
    await expectPaidOnce(world, address, { transaction })
  })

  const isShared = process.env['TEST_REDIS_URL'] !== undefined
  const reason = isShared ? '' : ' (skipped: without a redis-server each process keeps answers of its own)'
  const withSharedAnswers = isShared ? test : test.skip
  withSharedAnswers(`gets the same answer after a kill -9 of the gateway${reason}`, async () => {
    const { address, privateKey } = await world.newPayer()
    const { body, header } = await payAs(privateKey, generatePaymentId())
    const again = () => postJson(url, plainBlockNumber, header)
    // The answer is stored after it is sent.
    await until(again, ({ status }) => status === 200)
    await killGateway(world)
    await mine()
    const answer = await again()
    expect([answer.status, await answer.text()]).toEqual([200, body])
    await expectPaidOnce(world, address)
  })
})
