import { deployPlainToken, type PlainTokenTrait } from '@tollgate/devnet'
import { ChainUnavailable } from '../../errors'
import { startAlteringProxy } from '../../json-rpc/testing/node'
import { openTestChain, type TestChain } from '../testing/chain'
import { PERMIT2, PROXY } from '../transfer-methods/permit2/contracts'

let world: TestChain
let rpcUrl: string
beforeAll(async () => {
  world = await openTestChain()
  rpcUrl = world.settings.rpcUrls[0]!
})
afterAll(() => world.close())

const vet = (asset: string, chain = world.chain) => chain.tokens.validate({ asset, decimals: 18 })
const deploy = (trait: PlainTokenTrait) => deployPlainToken(rpcUrl, trait)
const plain = { symbol: 'PLN', decimals: 18, assetTransferMethod: 'permit2' }

test('a token with permits is valid, and keeps the domain that its payers sign; nothing is sent', async () => {
  const sent = await world.provider.getTransactionCount(world.signer.address)
  const asset = await deploy('Permits')
  expect(await vet(asset)).toEqual({ asset, ...plain, name: 'Plain', version: '1' })
  expect(await world.provider.getTransactionCount(world.signer.address, 'pending')).toBe(sent)
})

test.each<PlainTokenTrait>(['Plain', 'Silent', 'AlwaysAllows', 'OtherPermit'])(
  'a token that is %s is valid, without a domain: its payers approve Permit2',
  async (trait) => {
    const asset = await deploy(trait)
    expect(await vet(asset)).toEqual({ asset, ...plain })
  },
)

test.each<[PlainTokenTrait, RegExp, boolean]>([
  ['TakesFee', /takes a fee: of \d+ the payer lost (\d+) and the payee got (?!\1)/, true],
  ['ChargesPayer', /takes a fee: of 1 the payer lost 2 and the payee got 1$/, true],
  ['MovesNothing', /transferFrom moves nothing$/, true],
  ['MovesFreely', /a stranger can move what its holder neither signed nor allowed$/, true],
  ['MovesBeyond', /transferFrom moves more than the holder has allowed$/, true],
  ['AnyPermit', /permit takes a signature of somebody else/, true],
  ['NobodysPermit', /permit takes a signature .* never made$/, true],
  ['AnyAuthorization', /a stranger can move what its holder neither signed nor allowed$/, true],
  ['NoTransferEvent', /does not emit Transfer of exactly the payment/, true],
  ['Shrinks', /balances change without a transfer$/, true],
  ['Paused', /transferFrom by Permit2 fails for a good payment: /, false],
  ['Dear', /takes more gas .* max_gas of 300000$/, false],
])('a token that is %s is refused, with both reasons', async (trait, words, isTokensFault) => {
  const refusal = await vet(await deploy(trait))
  expect(refusal).toEqual({ problem: expect.stringMatching(words) as string, isTokensFault })
  expect(refusal).toMatchObject({ problem: expect.stringMatching(/EIP-3009.*Nor .* Permit2: /) as string })
})

test('without Permit2 or the proxy on its network a token is refused, and the refusal says what to do', async () => {
  for (const missing of [PERMIT2, PROXY]) {
    const node = await startAlteringProxy(rpcUrl, ({ method, params }, reply) => {
      const [first] = params as [(string | { to?: string })?]
      const asked = typeof first === 'string' ? first : first?.to
      const isMissing = asked?.toLowerCase() === missing.toLowerCase()
      return isMissing && /eth_(call|getCode)/.test(method) ? { result: '0x' } : reply
    })
    const chain = world.connect({ rpcUrls: [node.url] })
    expect(await vet(await deploy('Permits'), chain)).toEqual({
      problem: expect.stringMatching(
        /are not both on base-sepolia; deploy them, or take a token with EIP-3009$/,
      ) as string,
      isTokensFault: true,
    })
    await node.close()
  }
})

test('a node that cannot simulate is no proof', async () => {
  const failing = (code: number) =>
    startAlteringProxy(rpcUrl, ({ method }, reply) =>
      method === 'eth_simulateV1' ? { error: { code, message: 'not now' } } : reply,
    )
  const asset = await deploy('Permits')
  const [broken, old] = [await failing(-32000), await failing(-32601)]
  await expect(vet(asset, world.connect({ rpcUrls: [broken.url] }))).rejects.toThrow(ChainUnavailable)
  expect(await vet(asset, world.connect({ rpcUrls: [old.url] }))).toEqual({
    problem: expect.stringMatching(/cannot be tried out: .* eth_simulateV1/) as string,
    isTokensFault: false,
  })
  await Promise.all([broken.close(), old.close()])
})
