import { alterFaultyToken, deployFaultyToken, deployPlainToken, type TokenFault } from '@tollgate/devnet'
import { ChainUnavailable } from '../../errors'
import { type TokenProblem } from '../../family'
import { createRpc } from '../rpc'
import { usdc } from '../testing/authorization'
import { openTestChain, type TestChain } from '../testing/chain'
import { refusingWallet } from '../testing/contracts'
import { startJsonRpcNode, startAlteringProxy, startNode } from '../../json-rpc/testing/node'
import { validateToken } from './token-validation'

let world: TestChain
let rpcUrl: string
beforeAll(async () => {
  world = await openTestChain()
  rpcUrl = world.settings.rpcUrls[0]!
})
afterAll(() => world.close())

const unfit = (words: RegExp, isTokensFault: boolean) => ({
  problem: expect.stringMatching(words) as string,
  isTokensFault,
})
const tokensFault = (words: RegExp) => unfit(words, true)
const notTokensFault = (words: RegExp) => unfit(words, false)
/** A node that fails at `method` as a real one does. */
const failingNode = (method: string, code: number, message: string) =>
  startAlteringProxy(rpcUrl, (asked, reply) =>
    asked.method === method ? { error: { code, message } } : reply,
  )
type Simulated = { calls: { status: string }[] }[]
/** A node that lies about what became of simulated calls. */
const lyingSimulator = (change: (blocks: Simulated) => void) =>
  startAlteringProxy(rpcUrl, ({ method }, reply) => {
    if (method === 'eth_simulateV1') change(reply.result as Simulated)
    return reply
  })
const vet = (asset: string, decimals = 6, chain = world.chain) => chain.tokens.validate({ asset, decimals })

describe('vetToken takes', () => {
  test('USDC, by its canonical address, and sends nothing', async () => {
    const sent = await world.provider.getTransactionCount(world.signer.address)
    expect(await vet(usdc.asset)).toEqual(usdc)
    expect(await vet(usdc.asset.toLowerCase())).toEqual(usdc)
    expect(await world.provider.getTransactionCount(world.signer.address, 'pending')).toBe(sent)
  })

  test.each([0, 6, 18, 77])('a sound token of %s decimals', async (decimals) => {
    const asset = await deployFaultyToken(rpcUrl, { decimals })
    expect(await vet(asset, decimals)).toEqual({
      asset,
      symbol: 'FLT',
      decimals,
      name: 'Faulty',
      version: '1',
    })
  })

  test('a sound token behind a proxy, and one whose balances share a word with a flag', async () => {
    const proxied = await deployFaultyToken(rpcUrl, { isProxied: true })
    expect(await vet(proxied)).toMatchObject({ asset: proxied, name: 'Faulty' })
    const packed = await deployFaultyToken(rpcUrl, { fault: 'PackedBalance' })
    expect(await vet(packed)).toMatchObject({ asset: packed, name: 'Faulty' })
  })

  test('a sound token though the signer has no ether: nothing is paid', async () => {
    const poor = world.connect({ signerKeys: [`0x${'77'.repeat(32)}`] })
    expect(await vet(usdc.asset, 6, poor)).toEqual(usdc)
  })
})

describe('vetToken refuses', () => {
  test('what is no address, and where there is no contract', async () => {
    for (const asset of ['uatom', '', '0x', `${usdc.asset}00`, '\u0000'])
      expect(await vet(asset)).toEqual(notTokensFault(/no EVM address/))
    expect(await vet('0x00000000000000000000000000000000000000aa')).toEqual(notTokensFault(/no contract/))
  })

  test('a contract that is no token', async () => {
    expect(await vet(await world.place(refusingWallet))).toEqual(tokensFault(/no ERC-20 token/))
  })

  test('other decimals than the contract has, naming its own, also after they changed', async () => {
    const asset = await deployFaultyToken(rpcUrl)
    expect(await vet(asset, 18)).toEqual({
      ...notTokensFault(/decimals is not 18.* own is 6/),
      decimals: 6,
    })
    expect(await vet(asset, 6)).toMatchObject({ decimals: 6 })
    await alterFaultyToken(rpcUrl, asset, { decimals: 8 })
    expect(await vet(asset, 6)).toEqual({ ...notTokensFault(/decimals is not 6.* own is 8/), decimals: 8 })
  })

  test('a sound token that takes more gas than a settlement may use, which is no fault of its own', async () => {
    const proxied = await deployFaultyToken(rpcUrl, { isProxied: true })
    const capped = world.connect({ maxGas: 60_000n })
    for (const asset of [usdc.asset, proxied])
      expect(await vet(asset, 6, capped)).toEqual(notTokensFault(/takes more gas .* max_gas of 60000/))
  })

  test.each(['00', '0a', '7f'])('a token whose proven name holds the control character %s', async (byte) => {
    const asset = await deployFaultyToken(rpcUrl)
    const code = await world.provider.getCode(asset)
    const [name, unclean] = ['4661756c7479', `466175${byte}7479`]
    expect(code).toContain(name)
    await world.provider.send('anvil_setCode', [asset, code.replaceAll(name, unclean)])
    expect(await vet(asset)).toEqual(tokensFault(/name or version holds control characters.*: Fau\?ty$/))
  })

  const faults: [TokenFault, RegExp][] = [
    ['NoDomain', /EIP-712 domain cannot be proven/],
    ['NoStandard', /does not take EIP-3009/],
    ['HiddenBalance', /cannot be tried out: no word of the storage/],
    ['Reverts', /fails for a good authorization: .*closed for today/],
    ['Endless', /fails for a good authorization/],
    ['Talkative', /answers more than a word|fails for a good authorization/],
    ['TakesFee', /takes a fee: of 1000000007 the payer lost 1000000007 and the payee got 999900007/],
    ['ChargesPayer', /takes a fee: of 1 the payer lost 2 and the payee got 1$/],
    ['CountsTwice', /takes a fee: of 1 the payer lost 1 and the payee got 2$/],
    ['MovesNothing', /moves nothing/],
    ['Replayable', /does not revert on an authorization that was used/],
    ['AnySignature', /takes a signature of somebody else than the payer$/],
    ['LooseAmount', /takes an authorization whose amount was altered/],
    ['Late', /takes an authorization after its validBefore/],
    ['Early', /takes an authorization before its validAfter/],
    ['DeniesUse', /authorizationState does not tell/],
    ['ClaimsUse', /authorizationState calls an authorization used that was never used/],
    ['NoTransferEvent', /does not emit AuthorizationUsed and then Transfer/],
    ['WrongTransferEvent', /does not emit AuthorizationUsed and then Transfer/],
    ['NoUsedEvent', /does not emit AuthorizationUsed and then Transfer/],
    ['LastNonceOnly', /does not revert on an authorization that was used/],
    ['ForgetsInTime', /does not revert on an authorization that was used/],
    ['NoSigner', /takes a signature that was never made/],
    ['Limited', /fails for a good authorization: .*too much at once/],
  ]
  const unproven: TokenFault[] = ['HiddenBalance', 'Reverts', 'Endless', 'Limited']
  test.each(faults)('a token with the fault %s', async (fault, words) => {
    // Where no balance is found, the node may have had no ear for the storage it was given; what reverts may be paused.
    const refusal = unfit(words, !unproven.includes(fault))
    expect(await vet(await deployFaultyToken(rpcUrl, { fault }))).toEqual(refusal)
    const proxied = await deployFaultyToken(rpcUrl, { fault, isProxied: true })
    expect(await vet(proxied)).toEqual(refusal)
  })

  const one = 12
  const many = 18
  const used = /does not revert on an authorization that was used/
  const mustFail: [block: number, call: number, words: RegExp][] = [
    [0, 0, /takes a signature of somebody else than the payer$/],
    [0, 1, /whose payee was altered/],
    [0, 2, /whose amount was altered/],
    [0, 3, /whose nonce was altered/],
    [0, 4, /whose validAfter was altered/],
    [0, 5, /whose validBefore was altered/],
    [0, 6, /after its validBefore/],
    [0, 7, /before its validAfter/],
    [0, 8, /somebody else than the payer, given as bytes/],
    [0, 9, /takes a signature that was never made/],
    // The first payment again: at once, after the second, and later. Then the second one.
    [0, 15, used],
    [0, 21, used],
    [1, 0, used],
    [0, 22, used],
    [1, 1, used],
  ]
  test.each(mustFail)('a token that takes, in block %s, call %s', async (block, call, words) => {
    const node = await lyingSimulator((blocks) => (blocks[block]!.calls[call]!.status = '0x1'))
    expect(await vet(usdc.asset, 6, world.connect({ rpcUrls: [node.url] }))).toEqual(tokensFault(words))
    await node.close()
  })

  test.each([
    [0, 23],
    [0, 24],
    [1, 2],
    [1, 3],
  ])('a token that does not tell, in block %s by call %s, what was used', async (block, call) => {
    const node = await lyingSimulator((blocks) => (blocks[block]!.calls[call]!.status = '0x0'))
    expect(await vet(usdc.asset, 6, world.connect({ rpcUrls: [node.url] }))).toEqual(
      tokensFault(/authorizationState does not tell/),
    )
    await node.close()
  })

  test('a payment that fails in the simulation, as of a token paused meanwhile; that alone proves nothing', async () => {
    for (const failing of [[one], [many], [one, many]]) {
      const node = await lyingSimulator((blocks) => {
        for (const call of failing) blocks[0]!.calls[call]!.status = '0x0'
      })
      const chain = world.connect({ rpcUrls: [node.url] })
      expect(await vet(usdc.asset, 6, chain)).toEqual(notTokensFault(/fails for a good authorization/))
      await node.close()
    }
  })

  test('what the other payment proves, though one of them fails', async () => {
    const asset = await deployFaultyToken(rpcUrl, { fault: 'ChargesPayer' })
    const proofs: [failing: number, words: RegExp][] = [
      [many, /takes a fee: of 1 the payer lost 2/],
      [one, /takes a fee: of 1000000007 the payer lost 1000000008/],
    ]
    for (const [failing, words] of proofs) {
      const node = await lyingSimulator((blocks) => (blocks[0]!.calls[failing]!.status = '0x0'))
      expect(await vet(asset, 6, world.connect({ rpcUrls: [node.url] }))).toEqual(tokensFault(words))
      await node.close()
    }
  })
})

describe('what a node cannot try', () => {
  const lacking: [code: number, message: string][] = [
    [-32601, 'the method is not there'],
    [-32602, 'Invalid params'],
    [-32602, 'too many arguments, want at most 2'],
    [-32004, 'not supported'],
    [-32600, 'Unsupported method: it is not for your plan'],
    [-32000, 'the method eth_x does not exist/is not available'],
    [4200, 'Method disabled'],
  ]
  describe.each(lacking)('is refused, and not guessed, where %s %s', (code, message) => {
    test.each([
      ['eth_simulateV1', 2],
      ['eth_call', 3],
    ])(
      'is the answer to %s of %s parameters; another endpoint that has it is asked',
      async (asked, count) => {
        const node = await startAlteringProxy(rpcUrl, ({ method, params }, reply) =>
          method === asked && params.length === count ? { error: { code, message } } : reply,
        )
        const refusal = await vet(usdc.asset, 6, world.connect({ rpcUrls: [node.url] }))
        expect(refusal).toEqual(notTokensFault(/cannot be tried out: .*RPC URL.* eth_simulateV1 and state/))
        expect((refusal as TokenProblem).problem).toContain(
          `responded to ${asked} with ${message.slice(0, 40)}`,
        )
        expect(await vet(usdc.asset, 6, world.connect({ rpcUrls: [node.url, rpcUrl] }))).toEqual(usdc)
        await node.close()
      },
    )
  })

  test.each([
    ['eth_simulateV1', -32000, 'execution aborted (timeout = 5s)'],
    ['eth_simulateV1', -32000, 'header for hash not found'],
    ['eth_simulateV1', 3, 'execution reverted'],
    ['eth_simulateV1', -38013, 'intrinsic gas too low'],
    ['eth_simulateV1', -32600, 'Invalid request'],
    ['eth_getBlockByNumber', -32000, 'the database is closed'],
    ['eth_getCode', -32000, 'missing'],
    ['eth_call', -32000, 'execution aborted (timeout = 5s)'],
  ])(
    'is unknown, and no fault of the token, where %s fails with %s %s; another endpoint is asked',
    async (method, code, message) => {
      const node = await failingNode(method, code, message)
      const vetting = vet(usdc.asset, 6, world.connect({ rpcUrls: [node.url] }))
      await expect(vetting).rejects.toThrow(ChainUnavailable)
      expect(await vet(usdc.asset, 6, world.connect({ rpcUrls: [node.url, rpcUrl] }))).toEqual(usdc)
      await node.close()
    },
  )

  test('is refused where it does not heed state overrides', async () => {
    const deaf = await startAlteringProxy(rpcUrl, ({ method, params }, reply) =>
      method === 'eth_call' && params.length > 2 ? { result: `0x${'00'.repeat(32)}` } : reply,
    )
    expect(await vet(usdc.asset, 6, world.connect({ rpcUrls: [deaf.url] }))).toEqual(
      notTokensFault(/cannot be tried out: no word of the storage/),
    )
    await deaf.close()
  })

  test('is unknown where it gives no answer, or one too few', async () => {
    const mute = await startJsonRpcNode(({ method }) =>
      method === 'eth_chainId' ? { result: '0x14a34' } : { error: { code: -32603, message: 'internal' } },
    )
    await expect(vet(usdc.asset, 6, world.connect({ rpcUrls: [mute.url] }))).rejects.toThrow(ChainUnavailable)
    await mute.close()
    const short = await startAlteringProxy(rpcUrl, ({ method }, reply) => {
      if (method === 'eth_simulateV1') (reply.result as { calls: unknown[] }[])[0]!.calls.pop()
      return reply
    })
    await expect(vet(usdc.asset, 6, world.connect({ rpcUrls: [short.url] }))).rejects.toThrow(
      ChainUnavailable,
    )
    await short.close()
  })
})

test('a vetting ends in time though the node never answers', async () => {
  const silent = await startNode(() => undefined)
  const rpc = createRpc({ ...world.settings, rpcUrls: [silent.url], rpcTimeoutMs: 50_000 })
  const vetting = validateToken(
    rpc,
    { ...world.settings, signers: [], hasPermit2: () => Promise.resolve(true) },
    { asset: usdc.asset, decimals: 6 },
    100,
  )
  await expect(vetting).rejects.toThrow(ChainUnavailable)
  rpc.close()
  await silent.close()
})

test('every question names the gas it may use, and a vetting asks a bounded number of them', async () => {
  const asked: { method: string; gas: string[] }[] = []
  const node = await startAlteringProxy(rpcUrl, ({ method, params }, reply) => {
    const [first] = params as [{ gas?: string; blockStateCalls?: { calls: { gas: string }[] }[] }]
    if (/eth_(call|createAccessList)/.test(method)) asked.push({ method, gas: [first.gas ?? 'any'] })
    if (method === 'eth_simulateV1')
      asked.push({
        method,
        gas: first.blockStateCalls!.flatMap(({ calls }) => calls.map(({ gas }) => gas)),
      })
    return reply
  })
  const asset = await deployFaultyToken(rpcUrl, { fault: 'HiddenBalance', isProxied: true })
  const chain = world.connect({ rpcUrls: [node.url] })
  await vet(asset, 6, chain)
  await vet(usdc.asset, 6, chain)
  await vet(await deployPlainToken(rpcUrl), 18, chain)
  const most = Math.max(...asked.flatMap(({ gas }) => gas.map(Number)))
  expect(most).toBe(Number(world.settings.maxGas))
  expect(asked.length).toBeLessThan(150)
  await node.close()
})
