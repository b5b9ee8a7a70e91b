import { encodeJson, specificationReason } from '@tollgate/protocol'
import { balanceOf } from '../testing/accounts'
import { cosmosPlanOf, planOf } from '../testing/catalog'
import { cosmosX402, signSend } from '../testing/cosmos-payment'
import { type TestGateway } from '../testing/gateway'
import { errorIn, receiptIn, payPerRequest } from '../testing/pay-per-request'
import { signPayment, x402 } from '../testing/payment'
import { blockNumber } from '../testing/plain'
import { getRefusingUrl } from '../testing/upstream'

const world = payPerRequest()
const { call, newPayer, statesOf } = world
afterEach(() => sell(planOf()))

async function sell(...plans: TestGateway['catalog']['plans']) {
  world.gateway.catalog.plans.splice(0, Infinity, ...plans)
  await world.gateway.reapply()
}

const failCall = async (payment: string) => {
  await call({ payment, chain: await world.gateway.chain(await getRefusingUrl()) })
  await world.gateway.ledger.drain()
}

const NOTHING_FITS = [402, 'invalid_payment_requirements']

describe('the sequence of a refused transaction', () => {
  const small = cosmosPlanOf({ id: 3 })
  const big = cosmosPlanOf({ id: 4, amount: '50000', credits: 600 })
  const signed = (wallet: Parameters<typeof signSend>[0], plan: typeof small) =>
    encodeJson(cosmosX402(signSend(wallet, plan, { gas: 100_000 + plan.id, accountNumber: 7 })))

  async function refusedPayer() {
    await sell(planOf(), small, big)
    const wallet = world.gateway.cosmosWallet({ plan: small })
    world.gateway.facilitator.refuse('insufficient_funds')
    expect((await call({ payment: signed(wallet, small) })).status).toBe(402)
    world.gateway.facilitator.refuse(undefined)
    return wallet
  }

  test('pays any other plan', async () => {
    const wallet = await refusedPayer()
    const body = Array.from({ length: 200 }, (_, id) => ({ ...blockNumber, id }))
    const served = await call({ payment: signed(wallet, big), body })
    expect([served.status, served.headers['x-credits-charged']]).toEqual([200, '200'])
    expect(await balanceOf(world.gateway.ledger, wallet.address, 4)).toBe(400n)
  })

  test('pays another plan of the same price if its plan is retired', async () => {
    const wallet = await refusedPayer()
    await sell(planOf(), cosmosPlanOf({ id: 9 }))
    await call({ payment: signed(wallet, small) }).expect(200)
    expect(await balanceOf(world.gateway.ledger, wallet.address, 9)).toBe(99n)
  })

  test('pays nothing if no plan is left: all plans on sale are offered', async () => {
    const wallet = await refusedPayer()
    await sell(planOf())
    expect(errorIn(await call({ payment: signed(wallet, small) }))).toEqual(NOTHING_FITS)
  })
})

test('a sequence that a payer has used on another chain pays the chain that its transaction is signed for', async () => {
  const here = cosmosPlanOf({ id: 3 })
  const there = cosmosPlanOf({ id: 5, chain_id: 'elsewhere-1', network: 'elsewhere-1', amount: '50000' })
  await sell(planOf(), here, there)
  const wallet = world.gateway.cosmosWallet({ plan: here })
  /** Its header names no network. */
  const unnamed = (plan: typeof here) => encodeJson(signSend(wallet, plan, { accountNumber: 7 }))
  await call({ payment: unnamed(here) }).expect(200)
  await call({ payment: unnamed(there) }).expect(200)
  expect(await balanceOf(world.gateway.ledger, wallet.address, 5)).toBe(99n)
})

describe('a settled payment, whose plan was replaced by one of the same price in another asset, serves its call', () => {
  const inOtherAsset = planOf({ id: 20, asset_address: '0x1111111111111111111111111111111111111111' })

  test('also once the authorization has expired', async () => {
    const { payment, balance } = await newPayer()
    await failCall(payment)
    await sell(inOtherAsset)
    world.gateway.clock.advance(3_600)
    const served = await call({ payment })
    world.gateway.clock.advance(-3_600)
    expect(served.status).toBe(200)
    expect(await balance()).toBe(99n)
  })

  test('also of a contract, and is not stored again', async () => {
    const contract = world.gateway.wallet()
    world.gateway.facilitator.contractWallets.add(contract.address)
    const signature = await signPayment(world.gateway.wallet().signer, {
      payTo: planOf().pay_to,
      amount: '10000',
    })
    signature.authorization.from = contract.address
    const payment = encodeJson(x402(signature))
    await failCall(payment)
    await sell(inOtherAsset)
    await call({ payment }).expect(200)
    expect(await statesOf(contract.address)).toEqual([{ status: 'credited', call_state: 'served' }])
  })
})

describe('a payment of version 1 that misses every plan is refused for what it misses, and not stored', () => {
  const PAY_TO = '0x1111111111111111111111111111111111111111'
  const cosmos = cosmosPlanOf({ id: 3 })
  const evm = (changes: object) => async (network: string) => {
    const { signer } = world.gateway.wallet()
    const signed = await signPayment(signer, { payTo: planOf().pay_to, amount: '10000', ...changes })
    return { ...x402(signed), network }
  }
  const send = (changes: object) => (network: string) => ({
    ...cosmosX402(signSend(world.gateway.cosmosWallet({ plan: cosmos }), { ...cosmos, ...changes })),
    network,
  })

  test.each([
    [
      'too little',
      evm({ amount: '9999' }),
      'invalid_exact_evm_payload_authorization_value',
      ['base-sepolia', '84532', 'eip155:84532'],
    ],
    ['too much', evm({ amount: '10001' }), 'invalid_exact_evm_payload_authorization_value', ['base-sepolia']],
    [
      'another recipient',
      evm({ payTo: PAY_TO }),
      'invalid_exact_evm_payload_recipient_mismatch',
      ['base-sepolia', 'eip155:84532'],
    ],
    [
      'both',
      evm({ payTo: PAY_TO, amount: '1' }),
      'invalid_exact_evm_payload_recipient_mismatch',
      ['base-sepolia'],
    ],
    ['too little', send({ amount: '9999' }), 'invalid_payload', ['osmosis-1', 'cosmos:osmosis-1']],
    [
      'another recipient',
      (network: string) => send({ pay_to: world.gateway.cosmosWallet({ plan: cosmos }).address })(network),
      'invalid_payload',
      ['osmosis-1'],
    ],
  ])('%s', async (_, sign, reason, networks) => {
    await sell(planOf(), planOf({ id: 2, amount: '20000' }), cosmos)
    for (const network of networks) {
      const answer = await call({ payment: encodeJson(await sign(network)) })
      expect(specificationReason(receiptIn(answer).errorReason, { version: 1 })).toBe(reason)
      if (reason !== 'invalid_payload') expect(errorIn(answer)).toEqual([402, reason])
      expect(await statesOf(receiptIn(answer).payer)).toEqual([])
    }
  })
})

test.each([['84532'], ['eip155:84532']])(
  'a payment of version 1 may name its network %s',
  async (network) => {
    const { signer, address } = world.gateway.wallet()
    const signed = await signPayment(signer, { payTo: planOf().pay_to, amount: '10000' })
    await call({ payment: encodeJson({ ...x402(signed), network }) }).expect(200)
    expect(await balanceOf(world.gateway.ledger, address)).toBe(99n)
  },
)

test('a payment that is not stored yet pays no retired plan', async () => {
  const { payment, address } = await newPayer()
  await sell(planOf({ id: 2, amount: '20000' }))
  expect(errorIn(await call({ payment }))).toEqual(NOTHING_FITS)
  expect(await statesOf(address)).toEqual([])
})
