import { Wallet } from 'ethers'
import { ChainUnavailable, TransactionRejected } from '../../errors'
import { signPayment } from '../testing/authorization'
import { openTestChain, type TestChain } from '../testing/chain'
import { startAlteringProxy, startNode } from '../../json-rpc/testing/node'

let world: TestChain
beforeAll(async () => {
  world = await openTestChain()
})
afterAll(() => world.close())

describe('broadcast', () => {
  test('takes a transaction that is waiting or mined already for sent', async () => {
    const paid = await signPayment(world.payer, world.terms)
    const transaction = await world.sign(paid)
    await world.chain.node.broadcast(transaction)
    await world.chain.node.broadcast(transaction)
    await world.mine()
    await world.chain.node.broadcast(transaction)
    expect(await world.chain.node.transactionStatus(transaction.hash)).toMatchObject({
      status: 'mined',
      succeeded: true,
    })

    const early = await world.signBatch(
      [world.pending(await signPayment(world.payer, world.terms))],
      world.chain,
      { signer: world.signer.address, nonce: (await world.from()).nonce + 5n },
    )
    await world.chain.node.broadcast(early)
    await world.chain.node.broadcast(early)
    expect(await world.chain.node.transactionStatus(early.hash)).toEqual({ status: 'waiting' })
  })

  test('tells a transaction that can never be mined', async () => {
    const stale = await world.sign(await signPayment(world.payer, world.terms))
    expect(await world.settle(await signPayment(world.payer, world.terms))).toMatchObject({ isSettled: true })
    await expect(world.chain.node.broadcast(stale)).rejects.toThrow(TransactionRejected)

    const poor = Wallet.createRandom()
    const chain = world.connect({ signerKeys: [poor.privateKey] })
    const unpaid = await world.signBatch(
      [world.pending(await signPayment(world.payer, world.terms))],
      chain,
      { signer: poor.address, nonce: 0n },
    )
    await expect(chain.node.broadcast(unpaid)).rejects.toThrow(TransactionRejected)
  })

  test('does not take a node that is full, or away, for a verdict', async () => {
    const transaction = await world.sign(await signPayment(world.payer, world.terms))
    const full = await startAlteringProxy(world.settings.rpcUrls[0]!, ({ method }, reply) =>
      method === 'eth_sendRawTransaction'
        ? { error: { code: -32000, message: 'txpool is full' } }
        : method === 'eth_getTransactionByHash'
          ? { result: null }
          : reply,
    )
    for (const url of [full.url, 'http://127.0.0.1:9'])
      await expect(world.connect({ rpcUrls: [url] }).node.broadcast(transaction)).rejects.toThrow(
        ChainUnavailable,
      )
    await full.close()
  })

  test('does not take one node’s refusal for all nodes’ where another heard it and did not answer', async () => {
    const transaction = await world.sign(await signPayment(world.payer, world.terms))
    const silent = await startNode(([message], response) => {
      if (message?.method === 'eth_chainId')
        response.end(JSON.stringify({ jsonrpc: '2.0', id: message.id, result: '0x14a34' }))
    })
    const poor = await startAlteringProxy(world.settings.rpcUrls[0]!, ({ method }, reply) =>
      method === 'eth_sendRawTransaction'
        ? { error: { code: -32000, message: 'insufficient funds for gas * price + value' } }
        : method === 'eth_getTransactionByHash'
          ? { result: null }
          : reply,
    )
    const chainOf = (...rpcUrls: string[]) => world.connect({ rpcUrls, rpcTimeoutMs: 500 })
    await expect(chainOf(poor.url).node.broadcast(transaction)).rejects.toThrow(TransactionRejected)
    await expect(chainOf(silent.url, poor.url).node.broadcast(transaction)).rejects.toThrow(ChainUnavailable)
    await Promise.all([silent.close(), poor.close()])
  })
})
