import { Wallet } from 'ethers'
import { createRpc } from '../rpc'
import { usdc } from '../testing/authorization'
import { openTestChain, type TestChain } from '../testing/chain'
import { endlessWallet, refusingWallet, silentToken, talkativeWallet } from '../testing/contracts'
import { startAlteringProxy } from '../../json-rpc/testing/node'
import { describeToken } from './token'

let world: TestChain
beforeAll(async () => {
  world = await openTestChain()
})
afterAll(() => world.close())

async function describedBy(rpcUrl: string, asset: string) {
  const rpc = createRpc({ ...world.settings, rpcUrls: [rpcUrl] })
  const described = await describeToken(rpc, world.settings, asset)
  rpc.close()
  return described
}
const described = (asset: string) => describedBy(world.settings.rpcUrls[0]!, asset)

describe('describeToken', () => {
  test('tells symbol, decimals and the EIP-712 domain', async () => {
    expect(await described(usdc.asset)).toEqual(usdc)
  })

  test('leaves out a domain that the contract does not confirm', async () => {
    const DOMAIN_SEPARATOR = '0x3644e515'
    const node = await startAlteringProxy(world.settings.rpcUrls[0]!, ({ params }, reply) =>
      (params[0] as { data?: string } | undefined)?.data === DOMAIN_SEPARATOR
        ? { result: `0x${'ab'.repeat(32)}` }
        : reply,
    )
    expect(await describedBy(node.url, usdc.asset)).toEqual({
      asset: usdc.asset,
      symbol: 'USDC',
      decimals: 6,
    })
    await node.close()
  })

  test('knows no token where there is no contract', async () => {
    expect(await described(Wallet.createRandom().address)).toEqual({
      problem: expect.stringContaining('no contract at this address on base-sepolia') as string,
      isTokensFault: false,
    })
  })

  test.each([
    ['answers nothing', silentToken],
    ['answers a word to everything', refusingWallet],
    ['answers a megabyte', talkativeWallet],
    ['never comes to an end', endlessWallet],
  ])('knows no token in a contract that %s', async (_, code) => {
    expect(await described(await world.place(code))).toEqual({
      problem: expect.stringContaining('no ERC-20 token') as string,
      isTokensFault: true,
    })
  })
})

test('head tells the newest block', async () => {
  const { number, timestamp } = await world.chain.node.head()
  const block = await world.provider.getBlock(Number(number))
  expect(block?.timestamp).toBe(timestamp)
})
