import { toQuantity } from 'ethers'
import { ChainUnavailable } from '../../errors'
import { signPayment } from '../testing/authorization'
import { openOwnChain, type OwnChain } from '../testing/chain'
import { startAlteringProxy } from '../../json-rpc/testing/node'

let world: OwnChain
beforeAll(async () => {
  world = await openOwnChain()
})
afterAll(() => world.close())

describe('isNonceSpent', () => {
  /** As told by a chain whose newest block is this one, with three confirmations. */
  async function isSpentAt(height: bigint, nonce: bigint, lacksBlock = false) {
    const node = await startAlteringProxy(world.settings.rpcUrls[0]!, ({ method }, reply) => {
      if (method === 'eth_blockNumber') return { result: toQuantity(height) }
      return lacksBlock && method === 'eth_getTransactionCount'
        ? { error: { code: -32000, message: 'header not found' } }
        : reply
    })
    try {
      const chain = world.connect({ rpcUrls: [node.url], confirmations: 3 })
      return await chain.signer.isNonceSpent(world.signer.address, nonce)
    } finally {
      await node.close()
    }
  }

  test('is true once a transaction with the nonce is confirmed, and of no later nonce', async () => {
    const { nonce } = await world.from()
    const { block } = await world.settle(await signPayment(world.payer, world.terms))
    await world.mine(3)
    expect(await isSpentAt(block.number + 1n, nonce)).toBe(false)
    expect(await isSpentAt(block.number + 2n, nonce)).toBe(true)
    expect(await isSpentAt(block.number + 2n, nonce + 1n)).toBe(false)
    expect(await isSpentAt(1n, nonce)).toBe(false)
  })

  test('is not told by a node that lacks the block', () =>
    expect(isSpentAt(1_000_000n, 0n, true)).rejects.toThrow(ChainUnavailable))
})
