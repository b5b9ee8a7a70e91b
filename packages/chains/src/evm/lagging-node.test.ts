import { signPayment } from './testing/authorization'
import { openTestChain, type TestChain } from './testing/chain'
import { startNodeAt } from './testing/node'
import { signTransfer } from './testing/raw-transfer'

let world: TestChain
beforeAll(async () => {
  world = await openTestChain()
})
afterAll(() => world.close())

/** The network by a node that stays where it is now, and the real one after it; `alone`: without. */
async function behind() {
  const [url] = world.settings.rpcUrls
  const { number } = await world.chain.node.head()
  const node = await startNodeAt(url!, number)
  const chain = world.connect({ rpcUrls: [node.url, url!] })
  const alone = world.connect({ rpcUrls: [node.url] })
  return { node, chain, alone }
}

describe('a payer that was funded after the newest block of the first node', () => {
  test('is taken by the word of the second one: verified, signed for, and settled', async () => {
    const payer = await world.newWallet()
    const { node, chain, alone } = await behind()
    await world.mint(payer.address, world.terms.amount)
    const paid = await signPayment(payer, world.terms)
    expect(await alone.payments.verify({ payment: paid, terms: world.terms, now: new Date() })).toMatchObject(
      { reason: 'insufficient_funds' },
    )
    expect(
      await chain.payments.verify({ payment: paid, terms: world.terms, now: new Date() }),
    ).toBeUndefined()

    const signed = await world.signBatch([world.pending(paid)], chain, await world.from())
    await chain.node.broadcast(signed)
    await world.mine()
    const mined = await world.chain.node.transactionStatus(signed.hash)
    expect(mined.status === 'mined' && mined.settles(paid, world.terms)).toBe(true)
    await node.close()
  })

  test('may send a whole transaction, which the second node takes', async () => {
    const { node, chain, alone } = await behind()
    const payer = await world.newWallet()
    await world.mint(payer.address, world.terms.amount)
    const paid = await signTransfer(payer, world.terms)
    expect(await alone.payments.verify({ payment: paid, terms: world.terms, now: new Date() })).toMatchObject(
      { reason: 'insufficient_funds' },
    )
    expect(
      await chain.payments.verify({ payment: paid, terms: world.terms, now: new Date() }),
    ).toBeUndefined()
    await chain.node.broadcast(paid.transaction)
    await world.mine()
    expect(await world.balance(payer.address)).toBe(0n)
    await node.close()
  })
})

test('a refusal costs one more question where a node is further, and none of the payment where none is', async () => {
  const { node, chain } = await behind()
  const poor = await world.newWallet()
  await world.mine()
  const paid = await signPayment(poor, world.terms)
  const balancesAsked = () => node.requests.flat().filter(({ method }) => method === 'eth_call').length

  expect(await chain.payments.verify({ payment: paid, terms: world.terms, now: new Date() })).toMatchObject({
    reason: 'insufficient_funds',
  })
  const asked = balancesAsked()
  expect(asked).toBeGreaterThan(0)

  const [url] = world.settings.rpcUrls
  const { number } = await world.chain.node.head()
  const [first, second] = [await startNodeAt(url!, number), await startNodeAt(url!, number)]
  const even = world.connect({ rpcUrls: [first.url, second.url] })
  expect(await even.payments.verify({ payment: paid, terms: world.terms, now: new Date() })).toMatchObject({
    reason: 'insufficient_funds',
  })
  const methods = second.requests.flat().map(({ method }) => method)
  expect(methods).not.toContain('eth_call')
  for (const one of [node, first, second]) await one.close()
})
