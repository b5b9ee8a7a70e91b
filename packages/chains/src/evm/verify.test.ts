import { ChainUnavailable } from '../errors'
import { calls } from './transfer-methods/eip3009/authorization'
import { payment, signPayload, signPayment, usdc, usdcDomain } from './testing/authorization'
import { openTestChain, type TestChain } from './testing/chain'
import { credulousWallet, endlessWallet, lyingWallet } from './testing/contracts'
import { startAlteringProxy } from '../json-rpc/testing/node'
import { startRestingNode } from './testing/node'

let world: TestChain
beforeAll(async () => {
  world = await openTestChain()
})
afterAll(() => world.close())

describe('verify takes', () => {
  test('a payment that would settle', async () => {
    expect(await world.refusal()).toBeUndefined()
    expect(await world.refusal({}, { extra: { name: 'USDC', version: '2' } })).toBeUndefined()
    expect(await world.refusal({}, { extra: { somethingElse: 1 } })).toBeUndefined()
  })

  test('the recipient and the asset in any letter case', async () => {
    const { payTo } = world.terms
    expect(await world.refusal({}, { payTo: payTo.toLowerCase() })).toBeUndefined()
    expect(await world.refusal({ to: payTo.toLowerCase() })).toBeUndefined()
    expect(await world.refusal({}, { token: { ...usdc, asset: usdc.asset.toLowerCase() } })).toBeUndefined()
  })

  test('one that became valid since the last block, and that only', async () => {
    const paid = await signPayment(world.payer, world.terms)
    const settlement = calls.transfer(paid, true)
    const early = (data: string) => data === settlement
    const verifyAt = async (lastBlock: bigint) => {
      const node = await startRestingNode(world.settings.rpcUrls[0]!, lastBlock, early)
      const refused = await world
        .connect({ rpcUrls: [node.url] })
        .payments.verify({ payment: paid, terms: world.terms, now: new Date() })
      await node.close()
      return refused
    }
    expect(await verifyAt(paid.validAfter)).toBeUndefined()
    expect(await verifyAt(paid.validAfter + 1n)).toMatchObject({ reason: 'invalid_transaction_state' })
  })

  test('the payment of a wallet that is a contract', async () => {
    const wallet = await world.place(credulousWallet)
    await world.mint(wallet, world.terms.amount)
    for (const signature of ['0x', '0x1234', `0x${'ab'.repeat(65)}`, `0x${'ab'.repeat(300)}`]) {
      const { authorization } = await signPayload(world.payer, world.terms, { from: wallet })
      const paid = payment({ signature, authorization })
      expect(
        await world.chain.payments.verify({ payment: paid, terms: world.terms, now: new Date() }),
      ).toBeUndefined()
    }
  })
})

describe('verify counts what is reserved', () => {
  const verify = async (reserved: bigint) =>
    world.chain.payments.verify({
      payment: await signPayment(world.payer, world.terms),
      terms: world.terms,
      now: new Date(),
      reserved,
    })

  test('of the balance, to the last unit', async () => {
    const rest = (await world.balance(world.payer.address)) - world.terms.amount
    expect(await verify(rest)).toBeUndefined()
    expect(await verify(rest + 1n)).toMatchObject({ reason: 'insufficient_funds' })
  })
})

/** The chain through a node that tells what it was asked. */
async function watched() {
  const { url, requests, close } = await startAlteringProxy(world.settings.rpcUrls[0]!, (_, reply) => reply)
  const chain = world.connect({ rpcUrls: [url] })
  await chain.node.head()
  requests.length = 0
  return { chain, requests, close }
}

describe('verify', () => {
  test('asks the chain once, and only about what it cannot know', async () => {
    const { chain, requests, close } = await watched()
    expect(await world.refusal({ value: '1' }, {}, usdcDomain, chain)).toBeDefined()
    expect(requests).toHaveLength(0)
    expect(await world.refusal({}, {}, usdcDomain, chain)).toBeUndefined()
    expect(requests).toHaveLength(1)
    await close()
  })

  test('asks for the newest block once for all payments of one turn, and again for later ones', async () => {
    const { chain, requests, close } = await watched()
    const paid = await Promise.all([1, 2, 3].map(() => signPayment(world.payer, world.terms)))
    const verifyAll = async () =>
      Promise.all(
        paid.map((payment) => chain.payments.verify({ payment, terms: world.terms, now: new Date() })),
      )
    for (const round of [1, 2]) {
      expect(await verifyAll()).toEqual([undefined, undefined, undefined])
      const blocks = requests.flat().filter(({ method }) => method === 'eth_getBlockByNumber')
      expect(blocks).toHaveLength(round)
    }
    await close()
  })

  test('gives no contract more gas than a settlement may use', async () => {
    const { chain, requests, close } = await watched()
    await world.refusal({ from: await world.place(endlessWallet) }, {}, usdcDomain, chain)
    const calls = requests.flat().filter(({ method }) => method === 'eth_call')
    expect(calls).toHaveLength(4)
    for (const { params } of calls)
      expect(params[0]).toMatchObject({ gas: `0x${world.settings.maxGas.toString(16)}` })
    await close()
  })

  test('never takes a chain that cannot be asked for a refusal, nor for a consent', async () => {
    const chain = world.connect({ rpcUrls: ['http://127.0.0.1:9'] })
    await expect(world.refusal({}, {}, usdcDomain, chain)).rejects.toThrow(ChainUnavailable)

    const failing = await startAlteringProxy(world.settings.rpcUrls[0]!, ({ method }, reply) =>
      method === 'eth_call' ? { error: { code: -32000, message: 'header not found' } } : reply,
    )
    const lagging = world.connect({ rpcUrls: [failing.url] })
    await expect(world.refusal({}, {}, usdcDomain, lagging)).rejects.toThrow(ChainUnavailable)
    await failing.close()
  })

  test('is deceived by a wallet that lies to questions, but only until the transaction', async () => {
    const wallet = await world.place(lyingWallet)
    await world.mint(wallet, world.terms.amount)
    const { authorization } = await signPayload(world.payer, world.terms, { from: wallet })
    const lie = payment({ signature: '0x', authorization })
    expect(
      await world.chain.payments.verify({ payment: lie, terms: world.terms, now: new Date() }),
    ).toBeUndefined()
    const before = await world.balance(world.terms.payTo)
    expect(await world.settle(lie)).toMatchObject({ succeeded: false, isSettled: false })
    expect(await world.balance(world.terms.payTo)).toBe(before)
  })
})
