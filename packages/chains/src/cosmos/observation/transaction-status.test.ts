import { ChainUnavailable } from '../../errors'
import { type AlterReply, startAlteringProxy } from '../../json-rpc/testing/node'
import { broadcast } from '../settlement/broadcast'
import { isSequenceSpent } from './confirmations'
import { includes, transactionStatus } from './transaction-status'
import type { CosmosNetwork } from '../network'
import { openOwnChain, type OwnChain } from '../testing/chain'

let world: OwnChain
beforeAll(async () => {
  world = await openOwnChain()
})
afterAll(() => world.close())

async function liedTo<T>(lie: AlterReply, ask: (network: CosmosNetwork) => Promise<T>): Promise<T> {
  const node = await startAlteringProxy(world.rpcUrl, lie)
  try {
    return await ask(world.connect({ urls: [node.url] }))
  } finally {
    await node.close()
  }
}

describe('a transaction is', () => {
  test('unknown until it is broadcast, then waiting, then mined in a block of the chain', async () => {
    const payment = await world.pay(await world.newPayer())
    const { transaction } = payment
    expect(await transactionStatus(world.network, transaction.hash)).toEqual({ status: 'unknown' })
    await broadcast(world.network, transaction)
    expect(await transactionStatus(world.network, transaction.hash)).toEqual({ status: 'waiting' })
    // Known to the node that accepted it.
    expect(await transactionStatus(world.connect(), transaction.hash)).toEqual({ status: 'unknown' })
    await world.mine()
    const mined = await transactionStatus(world.network, transaction.hash)
    expect(mined).toMatchObject({ status: 'mined', isConfirmed: true, succeeded: true, fee: 0n })
    if (mined.status !== 'mined') return
    expect(mined.block).toEqual({
      number: await world.height(),
      hash: (await world.network.rpc.newestBlock()).hash,
    })
    expect(mined.settles(payment, world.terms)).toBe(true)
    expect(mined.settles(payment, { ...world.terms, amount: 1n })).toBe(false)
  })

  test('confirmed once it has the configured confirmations', async () => {
    const payment = await world.pay(await world.newPayer())
    await world.carryOut(payment)
    const patient = world.connect({ confirmations: 3 })
    const { hash } = payment.transaction
    expect(await transactionStatus(patient, hash)).toMatchObject({ isConfirmed: false })
    await world.mine()
    expect(await transactionStatus(patient, hash)).toMatchObject({ isConfirmed: false })
    await world.mine()
    expect(await transactionStatus(patient, hash)).toMatchObject({ isConfirmed: true })
  })

  test('charged to us if our account signed it', async () => {
    await world.fund(world.signer.address, 1_000_000n)
    expect(await world.carryOut(await world.pay(world.signer))).toMatchObject({ fee: 5_000n })
  })

  test('mined only if its signer’s sequence is used as well', async () => {
    const payer = await world.newPayer()
    const other = await world.pay(await world.newPayer())
    await world.carryOut(other)
    const invented = await world.pay(payer)
    const { raw, hash } = invented.transaction
    const mined = await world.ask('tx', Buffer.from(other.transaction.hash, 'hex').toString('base64'), false)
    const lie: AlterReply = ({ method }, reply) =>
      method === 'tx' ? { result: { ...(mined as object), hash, tx: raw } } : reply
    expect(await liedTo(lie, (network) => transactionStatus(network, hash))).toEqual({ status: 'waiting' })
  })

  test('unavailable if the node returns another, or lacks its block', async () => {
    const payer = await world.newPayer()
    const [one, two] = [await world.pay(payer), await world.pay(payer, { sequence: 1n })]
    await world.carryOut(one)
    await world.carryOut(two)
    const shown = await world.ask('tx', Buffer.from(two.transaction.hash, 'hex').toString('base64'), false)
    const { hash } = one.transaction
    const showOther: AlterReply = ({ method }, reply) => (method === 'tx' ? { result: shown } : reply)
    await expect(liedTo(showOther, (network) => transactionStatus(network, hash))).rejects.toThrow(
      ChainUnavailable,
    )
    const data = "min height 9 can't be greater than max height 1"
    const lacking: AlterReply = ({ method }, reply) =>
      method === 'blockchain' ? { error: { code: -32603, message: 'Internal error', data } } : reply
    await expect(liedTo(lacking, (network) => transactionStatus(network, hash))).rejects.toThrow(
      ChainUnavailable,
    )
  })
})

describe('a block', () => {
  test('is included if the chain has it, and no other block of its height is', async () => {
    const { number, hash } = await world.network.rpc.newestBlock()
    expect(await includes(world.network, { number, hash })).toBe(true)
    expect(await includes(world.network, { number, hash: hash.toLowerCase() })).toBe(true)
    expect(await includes(world.network, { number: number - 1n, hash })).toBe(false)
    await expect(includes(world.network, { number: number + 9n, hash })).rejects.toThrow(ChainUnavailable)
  })
})

describe('our sequence', () => {
  test('is spent once a confirmed transaction used it', async () => {
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

  test('is unspent if the account does not exist', async () => {
    expect(await isSequenceSpent(world.network, world.terms.payTo, 0n)).toBe(false)
  })
})
