import { Wallet } from 'ethers'
import { usdc } from './testing/authorization'
import { openTestChain, type TestChain } from './testing/chain'
import { startLyingNode } from './testing/node'
import { refusingWallet, silentToken } from './testing/contracts'

let world: TestChain
beforeAll(async () => {
  world = await openTestChain()
})
afterAll(() => world.close())

describe('describeToken', () => {
  test('tells symbol, decimals and the EIP-712 domain, by the canonical address', async () => {
    expect(await world.chain.describeToken(usdc.asset)).toEqual(usdc)
    expect(await world.chain.describeToken(usdc.asset.toLowerCase())).toEqual(usdc)
  })

  test('leaves out a domain that the contract does not confirm', async () => {
    const DOMAIN_SEPARATOR = '0x3644e515'
    const node = await startLyingNode(world.settings.rpcUrls[0]!, ({ params }, reply) =>
      (params[0] as { data?: string } | undefined)?.data === DOMAIN_SEPARATOR
        ? { result: `0x${'ab'.repeat(32)}` }
        : reply,
    )
    const chain = world.connect({ rpcUrls: [node.url] })
    expect(await chain.describeToken(usdc.asset)).toEqual({ asset: usdc.asset, symbol: 'USDC', decimals: 6 })
    await node.close()
  })

  test('knows no token where there is no contract, or another kind of one', async () => {
    expect(await world.chain.describeToken(Wallet.createRandom().address)).toBeUndefined()
    expect(await world.chain.describeToken(await world.place(silentToken))).toBeUndefined()
    expect(await world.chain.describeToken(await world.place(refusingWallet))).toBeUndefined()
    expect(await world.chain.describeToken('uatom')).toBeUndefined()
  })
})

test('head tells the newest block', async () => {
  const { number, timestamp } = await world.chain.head()
  const block = await world.provider.getBlock(Number(number))
  expect(block?.timestamp).toBe(timestamp)
})
