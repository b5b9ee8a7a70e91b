import { ChainUnavailable } from '../family'
import { type Lie, startLyingNode } from '../json-rpc/testing/node'
import { broadcast } from './broadcast'
import { isSequenceSpent } from './confirmed'
import { includes, inspect } from './inspection'
import type { CosmosNetwork } from './network'
import { openOwnChain, type OwnChain } from './testing/chain'

let world: OwnChain
beforeAll(async () => {
  world = await openOwnChain()
})
afterAll(() => world.close())

async function liedTo<T>(lie: Lie, ask: (network: CosmosNetwork) => Promise<T>): Promise<T> {
  const node = await startLyingNode(world.rpcUrl, lie)
  try {
    return await ask(world.connect({ urls: [node.url] }))
  } finally {
    await node.close()
  }
}

describe('a transaction is', () => {
  test('unknown until it is sent, waits then, and is mined in a block that the chain has', async () => {
    const payment = await world.pay(await world.newPayer())
    const { transaction } = payment
    expect(await inspect(world.network, transaction.hash)).toEqual({ status: 'unknown' })
    await broadcast(world.network, transaction)
    expect(await inspect(world.network, transaction.hash)).toEqual({ status: 'waiting' })
    // Known to whoever sent it.
    expect(await inspect(world.connect(), transaction.hash)).toEqual({ status: 'unknown' })
    await world.mine()
    const mined = await inspect(world.network, transaction.hash)
    expect(mined).toMatchObject({ status: 'mined', isConfirmed: true, succeeded: true, fee: 0n })
    if (mined.status !== 'mined') return
    expect(mined.block).toEqual({
      number: await world.height(),
      hash: (await world.network.rpc.newestBlock()).hash,
    })
    expect(mined.settles(payment, world.terms)).toBe(true)
    expect(mined.settles(payment, { ...world.terms, amount: 1n })).toBe(false)
  })

  test('confirmed once it has the blocks that the network asks for', async () => {
    const payment = await world.pay(await world.newPayer())
    await world.carryOut(payment)
    const patient = world.connect({ confirmations: 3 })
    const { hash } = payment.transaction
    expect(await inspect(patient, hash)).toMatchObject({ isConfirmed: false })
    await world.mine()
    expect(await inspect(patient, hash)).toMatchObject({ isConfirmed: false })
    await world.mine()
    expect(await inspect(patient, hash)).toMatchObject({ isConfirmed: true })
  })

  test('ours to pay where our account signed it', async () => {
    await world.fund(world.signer.address, 1_000_000n)
    expect(await world.carryOut(await world.pay(world.signer))).toMatchObject({ fee: 5_000n })
  })

  test('not mined by a node’s word alone: its signer’s account must have moved as well', async () => {
    const payer = await world.newPayer()
    const other = await world.pay(await world.newPayer())
    await world.carryOut(other)
    const invented = await world.pay(payer)
    const { raw, hash } = invented.transaction
    const mined = await world.ask('tx', Buffer.from(other.transaction.hash, 'hex').toString('base64'), false)
    const lie: Lie = ({ method }, reply) =>
      method === 'tx' ? { result: { ...(mined as object), hash, tx: raw } } : reply
    expect(await liedTo(lie, (network) => inspect(network, hash))).toEqual({ status: 'waiting' })
  })

  test('not told where the node answers another, or lacks its block', async () => {
    const payer = await world.newPayer()
    const [one, two] = [await world.pay(payer), await world.pay(payer, { sequence: 1n })]
    await world.carryOut(one)
    await world.carryOut(two)
    const shown = await world.ask('tx', Buffer.from(two.transaction.hash, 'hex').toString('base64'), false)
    const { hash } = one.transaction
    const showOther: Lie = ({ method }, reply) => (method === 'tx' ? { result: shown } : reply)
    await expect(liedTo(showOther, (network) => inspect(network, hash))).rejects.toThrow(ChainUnavailable)
    const data = "min height 9 can't be greater than max height 1"
    const lacking: Lie = ({ method }, reply) =>
      method === 'blockchain' ? { error: { code: -32603, message: 'Internal error', data } } : reply
    await expect(liedTo(lacking, (network) => inspect(network, hash))).rejects.toThrow(ChainUnavailable)
  })
})

describe('a block', () => {
  test('is included where the chain has it, and no other at its height', async () => {
    const { number, hash } = await world.network.rpc.newestBlock()
    expect(await includes(world.network, { number, hash })).toBe(true)
    expect(await includes(world.network, { number, hash: hash.toLowerCase() })).toBe(true)
    expect(await includes(world.network, { number: number - 1n, hash })).toBe(false)
    await expect(includes(world.network, { number: number + 9n, hash })).rejects.toThrow(ChainUnavailable)
  })
})

describe('a sequence of ours', () => {
  test('is spent once a transaction took it and that is confirmed', async () => {
    const payer = await world.newPayer()
    const isSpent = (on: CosmosNetwork, sequence: bigint) => isSequenceSpent(on, payer.address, sequence)
    const patient = world.connect({ confirmations: 2 })
    expect(await isSpent(world.network, 0n)).toBe(false)
    const payment = await world.pay(payer)
    await world.offer(payment.tx.bytes)
    expect(await isSpent(world.network, 0n)).toBe(false)
    await world.mine()
    expect([await isSpent(world.network, 0n), await isSpent(patient, 0n)]).toEqual([true, false])
    await world.mine()
    expect([await isSpent(patient, 0n), await isSpent(patient, 1n)]).toEqual([true, false])
  })

  test('is unspent of an account that the chain has never heard of', async () => {
    expect(await isSequenceSpent(world.network, world.terms.payTo, 0n)).toBe(false)
  })
})
