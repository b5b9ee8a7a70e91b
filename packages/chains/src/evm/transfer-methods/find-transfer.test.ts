import { toBeHex, toQuantity } from 'ethers'
import { startAlteringProxy, type AlterReply } from '../../json-rpc/testing/node'
import { signPayment, usdc } from '../testing/authorization'
import { openOwnChain, type OwnChain } from '../testing/chain'
import { findingNothing } from '../testing/node'
import { signTransfer } from '../testing/raw-transfer'
import { calls } from './eip3009/authorization'
import type { EvmPayment } from './payment'

const MANY = 50
const unavailable = expect.objectContaining({ name: 'ChainUnavailable' }) as Error

let world: OwnChain
beforeAll(async () => {
  world = await openOwnChain()
  await world.mine(30)
})
afterAll(() => world.close())

/** Somebody sends it. */
async function usedAuthorization() {
  const payment = await signPayment(world.payer, world.terms)
  const hash = await world.send(await world.newWallet(), usdc.asset, calls.transfer(payment, true))
  return { payment, hash }
}
async function minedTransfer() {
  const payment = await signTransfer(world.payer, world.terms)
  const { hash } = await world.carryOut(payment.transaction)
  return { payment, hash }
}
const kinds: [string, () => Promise<{ payment: EvmPayment; hash: string }>][] = [
  ['an authorization', usedAuthorization],
  ['a raw transfer', minedTransfer],
]

const find = (
  payment: EvmPayment,
  on = world.chain,
  { terms = world.terms, minBlock = 0n, since = 0n } = {},
) => on.payments.findTransfer({ payment, terms, minBlock, since })

async function findBy(lie: AlterReply, payment: EvmPayment, at: Parameters<typeof find>[2] = {}) {
  const node = await startAlteringProxy(world.settings.rpcUrls[0]!, lie)
  try {
    return await find(payment, world.connect({ rpcUrls: [node.url] }), at)
  } finally {
    await node.close()
  }
}

describe.each(kinds)('the transfer of %s', (_, pay) => {
  test('is found with its block, the time of that and its place, confirmed or not', async () => {
    const { payment, hash } = await pay()
    const { blockNumber } = (await world.provider.getTransactionReceipt(hash))!
    const { timestamp } = (await world.provider.getBlock(blockNumber))!
    const transfer = { hash, blockNumber: BigInt(blockNumber), time: BigInt(timestamp), place: '0' }
    expect(await find(payment)).toEqual(transfer)
    expect(await find(payment, world.connect({ confirmations: MANY }))).toEqual(transfer)
  })

  test('is none for other terms', async () => {
    const { payment } = await pay()
    for (const changes of [
      { amount: 1n },
      { payTo: world.signer.address },
      { token: { ...usdc, asset: world.terms.payTo } },
    ]) {
      const found = find(payment, world.chain, { terms: { ...world.terms, ...changes } })
      expect(await found.catch(() => undefined)).toBeUndefined()
    }
  })

  test('is not told by a node that lacks its block, or whose chain has another', async () => {
    const { payment, hash } = await pay()
    const { blockNumber } = (await world.provider.getTransactionReceipt(hash))!
    const before = toQuantity(blockNumber - 1)
    const lacking: AlterReply = ({ method }, reply) =>
      method === 'eth_blockNumber' ? { result: before } : reply
    await expect(findBy(lacking, payment, { minBlock: BigInt(blockNumber) })).rejects.toThrow(unavailable)
    const forked: AlterReply = ({ method }, reply) =>
      method === 'eth_getBlockByNumber'
        ? { result: { ...(reply.result as object), hash: toBeHex(1, 32) } }
        : reply
    await expect(findBy(forked, payment)).rejects.toThrow(unavailable)
  })
})

test('no transfer is found for an authorization that is unused, cancelled, used for other terms, or signed by another', async () => {
  const { payer, terms } = world
  const unused = await signPayment(payer, terms)
  expect(await find(unused)).toBeUndefined()
  await world.cancel(unused)
  expect(await find(unused)).toBeUndefined()

  const less = await signPayment(payer, { ...terms, amount: 1n })
  await world.send(payer, usdc.asset, calls.transfer(less, true))
  const { nonce } = less
  expect(await find(await signPayment(payer, terms, { nonce }))).toBeUndefined()

  const { payment } = await usedAuthorization()
  const { signature } = await signPayment(await world.newWallet(), terms)
  expect(await find({ ...payment, signature })).toBeUndefined()
  expect(await find(payment)).toBeDefined()
})

test('no transfer is found for a raw transfer whose account nonce another transaction took, or that failed', async () => {
  const payer = await world.newWallet()
  await world.mint(payer.address, world.terms.amount)
  const replaced = await signTransfer(payer, world.terms, { gasLimit: 90_000 })
  await world.carryOut((await signTransfer(payer, world.terms)).transaction)
  expect(await find(replaced)).toBeUndefined()
  const failed = await signTransfer(payer, world.terms)
  expect(await world.carryOut(failed.transaction)).toMatchObject({ succeeded: false })
  expect(await find(failed)).toBeUndefined()
})

test('two payments in one transaction have places of their own', async () => {
  const payments = [await signPayment(world.payer, world.terms), await signPayment(world.payer, world.terms)]
  const { hash } = await world.carryOut(
    await world.signBatch(payments.map((payment) => world.pending(payment))),
  )
  const found = await Promise.all(payments.map((payment) => find(payment)))
  expect(found).toMatchObject([
    { hash, place: '0' },
    { hash, place: '1' },
  ])
  const status = await world.chain.node.transactionStatus(hash)
  const places = payments.map((payment) => status.status === 'mined' && status.placeOf(payment, world.terms))
  expect(places).toEqual(['0', '1'])
})

test('an authorization without an event is unknown while nodes may differ, and used too long ago after that', async () => {
  const payment = await signPayment(world.payer, world.terms)
  const used = toBeHex(1, 32)
  const height = BigInt(await world.provider.getBlockNumber())
  await expect(findBy(findingNothing({ since: height, used }, height), payment)).rejects.toThrow(unavailable)
  expect(await findBy(findingNothing({ since: 0n, used }, height), payment)).toBeUndefined()
})
