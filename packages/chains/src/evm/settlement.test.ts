import { toQuantity, Transaction, Wallet } from 'ethers'
import { ChainUnavailable, TransactionRejected } from '../family'
import { signPayment, usdc } from './testing/authorization'
import { openTestChain, type TestChain } from './testing/chain'
import { startLyingNode, startRestingNode } from './testing/node'

let world: TestChain
beforeAll(async () => {
  world = await openTestChain()
})
afterAll(() => world.close())

const from = async () => ({
  signer: world.signer.address,
  nonce: await world.chain.nextNonce(world.signer.address),
})

describe('a settlement', () => {
  test('moves exactly the amount, once, and tells what it cost', async () => {
    const { chain, terms, provider, signer } = world
    const paid = await signPayment(world.payer, terms)
    const before = await world.balance(terms.payTo)
    const funds = await provider.getBalance(signer.address)

    const outcome = await world.settle(paid)
    const receipt = await provider.getTransactionReceipt((outcome as { hash: string }).hash)
    expect(outcome).toEqual({
      status: 'settled',
      hash: receipt?.hash,
      blockNumber: BigInt(receipt?.blockNumber ?? 0),
      fee: receipt?.fee,
    })
    expect(await provider.getBalance(signer.address)).toBe(funds - receipt!.fee)
    expect(await world.balance(terms.payTo)).toBe(before + terms.amount)

    expect(await chain.verify(paid, terms, new Date())).toMatchObject({ reason: 'invalid_transaction_state' })
    expect(await chain.sign(paid, terms, await from())).toMatchObject({ reason: 'invalid_transaction_state' })
    expect(await world.balance(terms.payTo)).toBe(before + terms.amount)
  })

  test('of a wallet that is a contract goes by its own signature', async () => {
    const wallet = await world.newSmartWallet(world.payer)
    const paid = await signPayment(world.payer, world.terms, { from: wallet })
    expect(await world.chain.verify(paid, world.terms, new Date())).toBeUndefined()
    expect(await world.settle(paid)).toMatchObject({ status: 'settled' })
    expect(await world.balance(wallet)).toBe(1_000_000n - world.terms.amount)
  })
})

describe('sign', () => {
  test('stays within the caps, and pays no more than the network asks', async () => {
    const maxFeePerGas = 3_000_000_000n
    const chain = world.connect({ maxFeePerGas, maxGas: 120_000n })
    const { nonce } = await from()
    const { raw, hash } = await world.sign(await signPayment(world.payer, world.terms), world.terms, chain)
    const transaction = Transaction.from(raw)
    expect(transaction).toMatchObject({
      type: 2,
      chainId: 84532n,
      nonce: Number(nonce),
      from: world.signer.address,
      to: usdc.asset,
      value: 0n,
      hash,
    })
    expect(transaction.gasLimit).toBeLessThanOrEqual(120_000n)
    expect(transaction.maxFeePerGas).toBeLessThanOrEqual(maxFeePerGas)
    expect(transaction.maxPriorityFeePerGas).toBeLessThanOrEqual(transaction.maxFeePerGas!)
  })

  test('leaves room for a dearer block, as far as the cap allows', async () => {
    const gwei = 1_000_000_000n
    const node = await startLyingNode(world.settings.rpcUrls[0]!, ({ method }, reply) =>
      method === 'eth_getBlockByNumber'
        ? { result: { ...(reply.result as object), baseFeePerGas: toQuantity(2n * gwei) } }
        : method === 'eth_maxPriorityFeePerGas'
          ? { result: toQuantity(gwei) }
          : reply,
    )
    for (const [cap, maxFeePerGas] of [
      [100n * gwei, 5n * gwei],
      [4n * gwei, 4n * gwei],
      [3n * gwei, 3n * gwei],
    ]) {
      const chain = world.connect({ rpcUrls: [node.url], maxFeePerGas: cap! })
      const { raw } = await world.sign(await signPayment(world.payer, world.terms), world.terms, chain)
      expect(Transaction.from(raw)).toMatchObject({ maxFeePerGas, maxPriorityFeePerGas: gwei })
    }
    await node.close()
  })

  test('takes a payment that became valid since the last block', async () => {
    const paid = await signPayment(world.payer, world.terms)
    const node = await startRestingNode(world.settings.rpcUrls[0]!, paid.validAfter, (data) => data !== '')
    const chain = world.connect({ rpcUrls: [node.url] })
    expect(await chain.sign(paid, world.terms, await from())).toHaveProperty('raw')
    await node.close()
  })

  test('refuses when the network is dearer than the cap, and leaves the nonce free', async () => {
    const chain = world.connect({ maxFeePerGas: 1n })
    const paid = await signPayment(world.payer, world.terms)
    const before = await from()
    expect(await chain.sign(paid, world.terms, before)).toEqual({
      reason: 'unexpected_settle_error',
      detail: expect.stringContaining('cap of 1') as string,
    })
    expect(await from()).toEqual(before)
  })

  test('refuses what needs more gas than a settlement may use', async () => {
    const chain = world.connect({ maxGas: 40_000n })
    const paid = await signPayment(world.payer, world.terms)
    expect(await chain.sign(paid, world.terms, await from())).toMatchObject({
      reason: 'invalid_transaction_state',
    })
  })

  test('refuses a payment whose payer has spent the money since', async () => {
    const payer = await world.newWallet()
    await world.mint(payer.address, world.terms.amount)
    const paid = await signPayment(payer, world.terms)
    expect(await world.chain.verify(paid, world.terms, new Date())).toBeUndefined()
    await world.send(payer, usdc.asset, world.tokenCall('transfer', [world.signer.address, 1n]))
    expect(await world.chain.sign(paid, world.terms, await from())).toMatchObject({
      reason: 'invalid_transaction_state',
      detail: expect.stringContaining('exceeds balance') as string,
    })
  })

  test('refuses a payment that was cancelled since', async () => {
    const paid = await signPayment(world.payer, world.terms)
    await world.cancel(paid)
    expect(await world.chain.sign(paid, world.terms, await from())).toMatchObject({
      reason: 'invalid_transaction_state',
    })
    expect(await world.chain.findSettled(paid, world.terms)).toBeUndefined()
  })

  test('knows only its own signers', async () => {
    const paid = await signPayment(world.payer, world.terms)
    await expect(
      world.chain.sign(paid, world.terms, { signer: world.payer.address, nonce: 0n }),
    ).rejects.toThrow('is no signer of base-sepolia')
  })
})

describe('broadcast', () => {
  test('takes a transaction that is waiting or mined already for sent', async () => {
    const paid = await signPayment(world.payer, world.terms)
    const transaction = await world.sign(paid)
    await world.chain.broadcast(transaction)
    await world.chain.broadcast(transaction)
    await world.mine()
    await world.chain.broadcast(transaction)
    expect(await world.chain.outcome(transaction.hash, paid, world.terms)).toMatchObject({
      status: 'settled',
    })

    const early = await world.chain.sign(await signPayment(world.payer, world.terms), world.terms, {
      signer: world.signer.address,
      nonce: (await from()).nonce + 5n,
    })
    if ('reason' in early) throw new Error(early.detail)
    await world.chain.broadcast(early)
    await world.chain.broadcast(early)
    expect(await world.chain.outcome(early.hash, paid, world.terms)).toEqual({ status: 'pending' })
  })

  test('tells a transaction that can never be mined', async () => {
    const stale = await world.sign(await signPayment(world.payer, world.terms))
    expect(await world.settle(await signPayment(world.payer, world.terms))).toMatchObject({
      status: 'settled',
    })
    await expect(world.chain.broadcast(stale)).rejects.toThrow(TransactionRejected)

    const poor = Wallet.createRandom()
    const chain = world.connect({ signerKeys: [poor.privateKey] })
    const unpaid = await chain.sign(await signPayment(world.payer, world.terms), world.terms, {
      signer: poor.address,
      nonce: 0n,
    })
    if ('reason' in unpaid) throw new Error(unpaid.detail)
    await expect(chain.broadcast(unpaid)).rejects.toThrow(TransactionRejected)
  })

  test('does not take a node that is full, or away, for a verdict', async () => {
    const transaction = await world.sign(await signPayment(world.payer, world.terms))
    const full = await startLyingNode(world.settings.rpcUrls[0]!, ({ method }, reply) =>
      method === 'eth_sendRawTransaction'
        ? { error: { code: -32000, message: 'txpool is full' } }
        : method === 'eth_getTransactionByHash'
          ? { result: null }
          : reply,
    )
    for (const url of [full.url, 'http://127.0.0.1:9'])
      await expect(world.connect({ rpcUrls: [url] }).broadcast(transaction)).rejects.toThrow(ChainUnavailable)
    await full.close()
  })
})

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
    expect(chain.signers).toEqual([world.signer.address, other.address])
    expect(world.connect({ signerKeys: [] }).signers).toEqual([])
  })
})
