import { parseEther, toQuantity, type TransactionRequest, type Wallet } from 'ethers'
import { ChainUnavailable } from '../../../errors'
import { type NetworkSettings, type Terms } from '../../../family'
import { usdc } from '../../testing/authorization'
import { openTestChain, type TestChain } from '../../testing/chain'
import { startAlteringProxy } from '../../../json-rpc/testing/node'
import { signTransfer, transferData } from '../../testing/raw-transfer'

const gwei = 1_000_000_000n

let world: TestChain
beforeAll(async () => {
  world = await openTestChain()
})
afterAll(() => world.close())

/** The refusal of a transfer that meets the terms but for these changes. */
async function refusal(
  changes: TransactionRequest = {},
  {
    terms = {},
    settings = {},
    payer = world.payer,
    reserved = 0n,
  }: {
    terms?: Partial<Terms>
    settings?: Partial<NetworkSettings>
    payer?: Wallet
    reserved?: bigint
  } = {},
) {
  const of = { ...world.terms, ...terms }
  const payment = await signTransfer(payer, world.terms, changes)
  return world.connect(settings).payments.verify({ payment, terms: of, now: new Date(), reserved })
}

describe('verify, of a raw transfer, takes', () => {
  test('one that would settle, of any type', async () => {
    expect(await refusal()).toBeUndefined()
    const legacy = { gasPrice: 20n * gwei, maxFeePerGas: null, maxPriorityFeePerGas: null }
    expect(await refusal({ ...legacy, type: 0 })).toBeUndefined()
    expect(await refusal({ ...legacy, type: 1 })).toBeUndefined()
    expect(await refusal({ accessList: [{ address: usdc.asset, storageKeys: [] }] })).toBeUndefined()
  })

  test('the recipient and the asset in any letter case', async () => {
    const token = { ...usdc, asset: usdc.asset.toLowerCase() }
    expect(await refusal({}, { terms: { payTo: world.terms.payTo.toLowerCase(), token } })).toBeUndefined()
  })

  test('one behind others of its payer that wait', async () => {
    const ahead = (count: bigint) =>
      startAlteringProxy(world.settings.rpcUrls[0]!, ({ method, params }, reply) =>
        method === 'eth_getTransactionCount' && params[1] === 'pending'
          ? { result: toQuantity(BigInt(reply.result as string) + count) }
          : reply,
      )
    const nonce = await world.payer.getNonce()
    const node = await ahead(2n)
    const settings = { rpcUrls: [node.url] }
    for (const next of [nonce, nonce + 1, nonce + 2])
      expect(await refusal({ nonce: next }, { settings })).toBeUndefined()
    expect(await refusal({ nonce: nonce + 3 }, { settings })).toMatchObject({
      reason: 'invalid_transaction_state',
    })
    await node.close()
  })
})

describe('verify, of a raw transfer, refuses', () => {
  const otherTerms = (payTo: string, amount = world.terms.amount) => ({
    data: transferData({ payTo, amount }),
  })

  test.each<[string, string, () => ReturnType<typeof refusal>]>([
    ['another chain', 'invalid_network', () => refusal({ chainId: 8453 })],
    ['a call of another contract', 'invalid_payment', () => refusal({ to: world.signer.address })],
    [
      'another recipient',
      'invalid_exact_evm_payload_recipient_mismatch',
      () => refusal(otherTerms(world.signer.address)),
    ],
    [
      'one less',
      'invalid_exact_evm_payload_authorization_value',
      () => refusal(otherTerms(world.terms.payTo, world.terms.amount - 1n)),
    ],
    [
      'one more',
      'invalid_exact_evm_payload_authorization_value',
      () => refusal(otherTerms(world.terms.payTo, world.terms.amount + 1n)),
    ],
    [
      'a payer that pays itself',
      'invalid_payment',
      () => refusal(otherTerms(world.payer.address), { terms: { payTo: world.payer.address } }),
    ],
    [
      'terms that pay our signer',
      'invalid_payment_requirements',
      () => refusal(otherTerms(world.signer.address), { terms: { payTo: world.signer.address } }),
    ],
    [
      'another domain than the token’s',
      'invalid_payment_requirements',
      () => refusal({}, { terms: { extra: { name: 'Another' } } }),
    ],
    ['a gas limit past all need', 'invalid_payment', () => refusal({ gasLimit: 4n * 300_000n + 1n })],
    [
      'a gas limit past what a transaction may have',
      'invalid_payment',
      () => refusal({ gasLimit: 16_777_217n }, { settings: { maxGas: 10_000_000n } }),
    ],
    ['too little gas for the transfer', 'invalid_transaction_state', () => refusal({ gasLimit: 30_000 })],
    [
      'a fee below the base fee',
      'invalid_transaction_state',
      () => refusal({ maxFeePerGas: 1n, maxPriorityFeePerGas: 1n }),
    ],
    ['no tip', 'invalid_transaction_state', () => refusal({ maxPriorityFeePerGas: 0n })],
    [
      'more than the payer has for gas',
      'insufficient_funds',
      () => refusal({ maxFeePerGas: parseEther('1') / 1_000n }),
    ],
    [
      'an account nonce past the next one',
      'invalid_transaction_state',
      async () => refusal({ nonce: (await world.payer.getNonce()) + 1 }),
    ],
    [
      'more than the payer has beside what is reserved',
      'insufficient_funds',
      async () =>
        refusal({}, { reserved: (await world.balance(world.payer.address)) - world.terms.amount + 1n }),
    ],
  ])('%s', async (_, reason, refused) => {
    expect(await refused()).toEqual({ reason, detail: expect.any(String) as string })
  })

  test.each<[string, string, () => ReturnType<typeof refusal>]>([
    [
      'another chain',
      'the transaction is for chain 8453, and the network is chain 84532',
      () => refusal({ chainId: 8453 }),
    ],
    [
      'one less',
      'the payer signed 0.009999 USDC, and exactly 0.01 USDC is required',
      () => refusal(otherTerms(world.terms.payTo, world.terms.amount - 1n)),
    ],
  ])('%s, and names both', async (_, detail, refused) => {
    expect(await refused()).toMatchObject({ detail })
  })

  test('less than a tenth of the usual tip, also where the base fee leaves no room for it', async () => {
    const node = await startAlteringProxy(world.settings.rpcUrls[0]!, ({ method }, reply) =>
      method === 'eth_getBlockByNumber'
        ? { result: { ...(reply.result as object), baseFeePerGas: toQuantity(10n * gwei) } }
        : method === 'eth_maxPriorityFeePerGas'
          ? { result: toQuantity(2n * gwei) }
          : reply,
    )
    const settings = { rpcUrls: [node.url] }
    const fees = (maxFeePerGas: bigint) => ({ maxFeePerGas, maxPriorityFeePerGas: 2n * gwei })
    const tenth = gwei / 5n
    expect(await refusal(fees(10n * gwei + tenth), { settings })).toBeUndefined()
    expect(await refusal(fees(10n * gwei + tenth - 1n), { settings })).toMatchObject({
      reason: 'invalid_transaction_state',
    })
    await node.close()
  })

  test.each([21_000, 21_600, 22_000, 24_000, 30_000, 40_000])(
    'a gas limit of %s, which does not suffice, and says so',
    async (gasLimit) => {
      const detail = expect.stringMatching(
        new RegExp(`^a gas limit of ${gasLimit} does not suffice: `),
      ) as unknown
      expect(await refusal({ gasLimit })).toEqual({ reason: 'invalid_transaction_state', detail })
    },
  )

  test('one that the token refuses, with the token’s own words', async () => {
    const node = await startAlteringProxy(world.settings.rpcUrls[0]!, ({ method, params }, reply) => {
      const [{ data } = { data: '' }] = params as [{ data: string } | undefined]
      return method === 'eth_call' && data.startsWith('0xa9059cbb')
        ? { error: { code: 3, message: 'execution reverted: Blacklistable: account is blacklisted' } }
        : reply
    })
    expect(await refusal({}, { settings: { rpcUrls: [node.url] } })).toEqual({
      reason: 'invalid_transaction_state',
      detail: 'Blacklistable: account is blacklisted',
    })
    await node.close()
  })

  test('less gas than the node estimates, whatever the call takes', async () => {
    const node = await startAlteringProxy(world.settings.rpcUrls[0]!, ({ method }, reply) =>
      method === 'eth_estimateGas'
        ? { error: { code: -32000, message: 'gas required exceeds allowance (100000)' } }
        : reply,
    )
    expect(await refusal({}, { settings: { rpcUrls: [node.url] } })).toMatchObject({
      reason: 'invalid_transaction_state',
    })
    await node.close()
  })

  test('a fee below the base fee, but no want of a tip, where the node suggests none', async () => {
    const node = await startAlteringProxy(world.settings.rpcUrls[0]!, ({ method }, reply) =>
      method === 'eth_maxPriorityFeePerGas'
        ? { error: { code: -32601, message: 'method not found' } }
        : reply,
    )
    const settings = { rpcUrls: [node.url] }
    expect(await refusal({ maxPriorityFeePerGas: 0n }, { settings })).toBeUndefined()
    expect(await refusal({ maxFeePerGas: 1n, maxPriorityFeePerGas: 0n }, { settings })).toMatchObject({
      reason: 'invalid_transaction_state',
    })
    await node.close()
  })

  test('more than the payer has', async () => {
    const payer = await world.newWallet()
    expect(await refusal({}, { payer })).toMatchObject({ reason: 'insufficient_funds' })
    await world.mint(payer.address, world.terms.amount)
    expect(await refusal({}, { payer })).toBeUndefined()
  })

  test('an account nonce that was used', async () => {
    const payment = await signTransfer(world.payer, world.terms)
    await world.send(world.payer, world.signer.address, '0x')
    expect(await world.chain.payments.verify({ payment, terms: world.terms, now: new Date() })).toMatchObject(
      {
        reason: 'invalid_transaction_state',
      },
    )
  })

  test.each([
    ['answers that it does not transfer', `0x${'0'.repeat(64)}`, 'invalid_transaction_state'],
    ['answers nonsense', '0x1234', 'invalid_transaction_state'],
    ['answers nothing, as old ones do', '0x', undefined],
  ])('an asset that %s', async (_, answer, reason) => {
    const node = await startAlteringProxy(world.settings.rpcUrls[0]!, ({ method, params }, reply) => {
      const [{ data } = { data: '' }] = params as [{ data: string } | undefined]
      return method === 'eth_call' && data.startsWith('0xa9059cbb') ? { result: answer } : reply
    })
    const told = await refusal({}, { settings: { rpcUrls: [node.url] } })
    expect(told?.reason).toBe(reason)
    await node.close()
  })
})

describe('verify, of a raw transfer', () => {
  test('asks the chain once, and only about what it cannot know', async () => {
    const node = await startAlteringProxy(world.settings.rpcUrls[0]!, (_, reply) => reply)
    const chain = world.connect({ rpcUrls: [node.url] })
    await chain.node.head()
    node.requests.length = 0
    const wrong = await signTransfer(world.payer, { ...world.terms, amount: 1n })
    expect(await chain.payments.verify({ payment: wrong, terms: world.terms, now: new Date() })).toBeDefined()
    expect(node.requests).toHaveLength(0)
    expect(
      await chain.payments.verify({
        payment: await signTransfer(world.payer, world.terms),
        terms: world.terms,
        now: new Date(),
      }),
    ).toBeUndefined()
    expect(node.requests).toHaveLength(1)
    await node.close()
  })

  test('never takes a chain that cannot be asked for a refusal, nor for a consent', () =>
    expect(refusal({}, { settings: { rpcUrls: ['http://127.0.0.1:9'] } })).rejects.toThrow(ChainUnavailable))
})

describe('a raw transfer', () => {
  test('is in a batch of its own, and never signed', async () => {
    const [one, two] = [
      await signTransfer(world.payer, world.terms),
      await signTransfer(world.payer, world.terms),
    ]
    const pending = [world.pending(one), world.pending(two)]
    expect(await world.chain.payments.batches(pending)).toEqual(pending.map((one) => [one]))
    await expect(world.chain.signer.prepare(pending.slice(0, 1), await world.from())).rejects.toThrow(
      'never signed',
    )
    await expect(world.chain.signer.prepare(pending, await world.from())).rejects.toThrow('never signed')
  })
})
