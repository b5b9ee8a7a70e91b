import { ChainUnavailable } from '../errors'
import { signPayment } from './testing/authorization'
import { openOwnChain, type OwnChain } from './testing/chain'
import { startAlteringProxy } from '../json-rpc/testing/node'

let world: OwnChain
beforeAll(async () => {
  world = await openOwnChain()
  await world.setPace('stopped')
})
afterAll(() => world.close())

describe('a reorg that drops a settlement', () => {
  test('changes the block hash, the transaction status and the payment status, and the payment can be settled again', async () => {
    await world.mine()
    const before = await world.provider.getBlock('latest')
    const payment = await signPayment(world.payer, world.terms)
    const transaction = await world.sign(payment)
    const { block } = await world.carryOut(transaction)
    await world.mine(2)
    expect(await world.chain.node.includes(block)).toBe(true)
    expect(
      await world.chain.node.includes({ ...block, hash: block.hash.toUpperCase().replace('X', 'x') }),
    ).toBe(true)

    await world.provider.send('anvil_reorg', [3, []])
    expect(await world.chain.node.includes(block)).toBe(false)
    expect(await world.chain.node.includes({ number: BigInt(before!.number), hash: before!.hash! })).toBe(
      true,
    )
    expect(['unknown', 'waiting']).toContain(
      (await world.chain.node.transactionStatus(transaction.hash)).status,
    )
    expect(await world.chain.payments.paymentStatus({ payment, terms: world.terms })).toEqual({
      status: 'open',
    })

    const again = await world.carryOut(transaction)
    expect(again.settles(payment, world.terms)).toBe(true)
    expect(again.block).not.toEqual(block)
  })
})

describe('includes', () => {
  test('does not take a node that is not that far for one that has another block', async () => {
    const newest = await world.provider.getBlock('latest')
    await expect(
      world.chain.node.includes({ number: BigInt(newest!.number) + 5n, hash: newest!.hash! }),
    ).rejects.toThrow(ChainUnavailable)
  })

  test('does not believe a node that answers another block than the one asked for', async () => {
    const node = await startAlteringProxy(world.settings.rpcUrls[0]!, ({ method }, reply) =>
      method === 'eth_getBlockByNumber' ? { result: { ...(reply.result as object), number: '0x1' } } : reply,
    )
    const chain = world.connect({ rpcUrls: [node.url] })
    await expect(chain.node.includes({ number: 2n, hash: `0x${'ab'.repeat(32)}` })).rejects.toThrow(
      ChainUnavailable,
    )
    await node.close()
  })
})
