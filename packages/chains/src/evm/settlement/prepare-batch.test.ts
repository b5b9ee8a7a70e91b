import { startWeb3Signer } from '@tollgate/devnet'
import { hexlify, toQuantity, Transaction } from 'ethers'
import { SignerUnavailable } from '../../errors'
import { publicPoint } from '../../signers/remote-signer'
import { payment, signPayload, signPayment, usdc } from '../testing/authorization'
import { openTestChain, type TestChain } from '../testing/chain'
import { zeroVWallet } from '../testing/contracts'
import { compact, withParityAsV } from '../testing/signatures'
import { startAlteringProxy } from '../../json-rpc/testing/node'
import { startRestingNode } from '../testing/node'

let world: TestChain
beforeAll(async () => {
  world = await openTestChain()
})
afterAll(() => world.close())

describe('a settlement', () => {
  test('moves exactly the amount, once, and tells what it cost', async () => {
    const { chain, terms, provider, signer } = world
    const paid = await signPayment(world.payer, terms)
    const before = await world.balance(terms.payTo)
    const funds = await chain.signer.funds(signer.address)

    const settled = await world.settle(paid)
    const receipt = await provider.getTransactionReceipt(settled.hash)
    expect(settled).toMatchObject({
      status: 'mined',
      block: { number: BigInt(receipt!.blockNumber), hash: receipt!.blockHash },
      isConfirmed: true,
      succeeded: true,
      fee: receipt!.fee,
      isSettled: true,
    })
    expect(await chain.signer.funds(signer.address)).toBe(funds - receipt!.fee)
    expect(await world.balance(terms.payTo)).toBe(before + terms.amount)

    expect(await chain.payments.verify({ payment: paid, terms, now: new Date() })).toMatchObject({
      reason: 'invalid_transaction_state',
    })
    expect(await chain.signer.prepare([world.pending(paid)], await world.from())).toMatchObject({
      reason: 'invalid_transaction_state',
    })
    expect(await world.balance(terms.payTo)).toBe(before + terms.amount)
  })

  test('of a wallet that is a contract goes by its own signature', async () => {
    const wallet = await world.newSmartWallet(world.payer)
    const paid = await signPayment(world.payer, world.terms, { from: wallet })
    expect(
      await world.chain.payments.verify({ payment: paid, terms: world.terms, now: new Date() }),
    ).toBeUndefined()
    expect(await world.settle(paid)).toMatchObject({ isSettled: true })
    expect(await world.balance(wallet)).toBe(1_000_000n - world.terms.amount)
  })
})

describe('a signature that a hardware wallet writes in another form', () => {
  test.each([
    ['v as 0 or 1', withParityAsV],
    ['the 64 bytes of EIP-2098', compact],
  ])('settles once: %s', async (_, form) => {
    const { chain, payer, terms } = world
    const plain = await signPayment(payer, terms)
    const paid = { ...plain, signature: form(plain.signature) }
    expect(await chain.payments.verify({ payment: paid, terms, now: new Date() })).toBeUndefined()
    const before = await world.balance(terms.payTo)
    expect(await world.settle(paid)).toMatchObject({ isSettled: true })
    expect(await world.balance(terms.payTo)).toBe(before + terms.amount)
    for (const again of [plain, paid])
      expect(await chain.payments.verify({ payment: again, terms, now: new Date() })).toMatchObject({
        reason: 'invalid_transaction_state',
      })
  })

  test('is handed to a wallet that is a contract as it is', async () => {
    const { chain, terms } = world
    const wallet = await world.place(zeroVWallet)
    await world.mint(wallet, terms.amount)
    const { authorization } = await signPayload(world.payer, terms, { from: wallet })
    const signedBy = (v: string) => payment({ signature: `0x${'ab'.repeat(64)}${v}`, authorization })
    expect(await chain.payments.verify({ payment: signedBy('1b'), terms, now: new Date() })).toMatchObject({
      reason: 'invalid_exact_evm_payload_signature',
    })
    expect(await chain.payments.verify({ payment: signedBy('00'), terms, now: new Date() })).toBeUndefined()
    expect(await world.settle(signedBy('00'))).toMatchObject({ isSettled: true })
  })
})

describe('prepare', () => {
  test('stays within the caps, and pays no more than the network asks', async () => {
    const maxFeePerGas = 3_000_000_000n
    const chain = world.connect({ maxFeePerGas, maxGas: 120_000n })
    const { nonce } = await world.from()
    const paid = await signPayment(world.payer, world.terms)
    const { raw, hash, cost } = await world.signBatch([world.pending(paid)], chain)
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
    expect(cost).toBe(transaction.gasLimit * transaction.maxFeePerGas!)
  })

  test('leaves room for a dearer block, as far as the cap allows', async () => {
    const gwei = 1_000_000_000n
    const node = await startAlteringProxy(world.settings.rpcUrls[0]!, ({ method }, reply) =>
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
    expect(await chain.signer.prepare([world.pending(paid)], await world.from())).toHaveProperty('bytes')
    await node.close()
  })

  test('refuses when the network is dearer than the cap, and leaves the nonce free', async () => {
    const chain = world.connect({ maxFeePerGas: 1n })
    const paid = await signPayment(world.payer, world.terms)
    const before = await world.from()
    expect(await chain.signer.prepare([world.pending(paid)], before)).toEqual({
      reason: 'unexpected_settle_error',
      detail: expect.stringContaining('cap of 1') as string,
    })
    expect(await world.from()).toEqual(before)
  })

  test('refuses what needs more gas than a settlement may use', async () => {
    const chain = world.connect({ maxGas: 40_000n })
    const paid = await signPayment(world.payer, world.terms)
    expect(await chain.signer.prepare([world.pending(paid)], await world.from())).toMatchObject({
      reason: 'invalid_transaction_state',
    })
  })

  test('refuses a payment whose payer has spent the money since', async () => {
    const payer = await world.newWallet()
    await world.mint(payer.address, world.terms.amount)
    const paid = await signPayment(payer, world.terms)
    expect(
      await world.chain.payments.verify({ payment: paid, terms: world.terms, now: new Date() }),
    ).toBeUndefined()
    await world.send(payer, usdc.asset, world.tokenCall('transfer', [world.signer.address, 1n]))
    expect(await world.chain.signer.prepare([world.pending(paid)], await world.from())).toMatchObject({
      reason: 'invalid_transaction_state',
      detail: expect.stringContaining('exceeds balance') as string,
    })
  })

  test('refuses a payment that was cancelled since', async () => {
    const paid = await signPayment(world.payer, world.terms)
    await world.cancel(paid)
    expect(await world.chain.signer.prepare([world.pending(paid)], await world.from())).toMatchObject({
      reason: 'invalid_transaction_state',
    })
  })

  test('knows only its own signers', async () => {
    const paid = await signPayment(world.payer, world.terms)
    await expect(
      world.chain.signer.prepare([world.pending(paid)], { signer: world.payer.address, nonce: 0n }),
    ).rejects.toThrow('is no signer of base-sepolia')
    await expect(
      world.chain.signer.sign({ signer: world.payer.address, bytes: new Uint8Array(), cost: 0n }),
    ).rejects.toThrow('is no signer of base-sepolia')
  })

  test('asks no signer', async () => {
    const server = await startWeb3Signer({ privateKeys: [world.signer.privateKey] })
    const publicPoints = server.publicKeys.map((key) => publicPoint(key) ?? '')
    const remoteSigners = { url: server.url, publicPoints, timeoutMs: 5_000 }
    const chain = world.connect({ signerKeys: [], remoteSigners })
    const paid = await signPayment(world.payer, world.terms)
    const prepared = await chain.signer.prepare([world.pending(paid)], await world.from())
    if ('reason' in prepared) throw new Error(prepared.detail)
    expect(server.signed).toEqual([])
    const { cost } = await chain.signer.sign(prepared)
    expect([server.signed.length, cost]).toEqual([1, prepared.cost])
    await server.stop()
    await expect(chain.signer.sign(prepared)).rejects.toThrow(SignerUnavailable)
  })
})

describe('sign', () => {
  test('asks no node', async () => {
    const node = await startAlteringProxy(world.settings.rpcUrls[0]!, (_, reply) => reply)
    const chain = world.connect({ rpcUrls: [node.url] })
    const paid = await signPayment(world.payer, world.terms)
    const prepared = await chain.signer.prepare([world.pending(paid)], await world.from())
    if ('reason' in prepared) throw new Error(prepared.detail)
    await node.close()
    const signed = await chain.signer.sign(prepared)
    expect(Transaction.from(signed.raw)).toMatchObject({
      hash: signed.hash,
      from: world.signer.address,
      unsignedSerialized: hexlify(prepared.bytes),
    })
  })
})
