import { Wallet } from 'ethers'
import { openTestChain, type TestChain } from './testing/chain'

let world: TestChain
beforeAll(async () => {
  world = await openTestChain()
})
afterAll(() => world.close())

describe('connect', () => {
  test('names a wrong setting without telling a key or a URL', () => {
    const key = `${world.signer.privateKey.slice(0, -2)}zz`
    const problem = (changes: Parameters<TestChain['connect']>[0]) => {
      try {
        world.connect(changes)
        return undefined
      } catch (error) {
        return (error as Error).message
      }
    }
    expect(problem({ signerKeys: [world.signer.privateKey, key] })).toBe(
      'Signer key 2 is no private key: give 0x and 64 hex digits',
    )
    expect(problem({ rpcUrls: [] })).toContain('at least one RPC URL')
    expect(problem({ rpcUrls: ['ftp://secret'] })).not.toContain('secret')
    expect(problem({ chainId: 'cosmoshub-4' })).toContain('is a number')
  })

  test('tells its signers by their addresses', () => {
    const other = Wallet.createRandom()
    const chain = world.connect({ signerKeys: [world.signer.privateKey, other.privateKey] })
    expect(chain.signer.addresses).toEqual([world.signer.address, other.address])
    expect(world.connect({ signerKeys: [] }).signer.addresses).toEqual([])
  })
})
