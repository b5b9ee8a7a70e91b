import { hexlify, randomBytes, toQuantity } from 'ethers'
import type { TransactionStatus, Terms } from '../../family'
import type { EvmPayment } from '../transfer-methods/payment'
import { signPayment, usdc, usdcDomain } from '../testing/authorization'
import { openTestChain, type TestChain } from '../testing/chain'
import { carelessToken, feeTakingToken, silentToken } from '../testing/contracts'
import { startAlteringProxy } from '../../json-rpc/testing/node'

let world: TestChain
beforeAll(async () => {
  world = await openTestChain()
})
afterAll(() => world.close())

async function settled() {
  const paid = await signPayment(world.payer, world.terms)
  const told = await world.settle(paid)
  expect(told.isSettled).toBe(true)
  return { paid, ...told }
}

const settles = (told: TransactionStatus<EvmPayment>, paid: EvmPayment) =>
  told.status === 'mined' && told.settles(paid, world.terms)

/** The inspection by way of a node that alters the receipts, and the payment. */
async function inspectionWith(change: (receipt: Record<string, unknown>) => unknown) {
  const { paid, hash } = await settled()
  const liar = await startAlteringProxy(world.settings.rpcUrls[0]!, ({ method }, reply) =>
    method === 'eth_getTransactionReceipt'
      ? { result: change(reply.result as Record<string, unknown>) }
      : reply,
  )
  try {
    return { paid, told: await world.connect({ rpcUrls: [liar.url] }).node.transactionStatus(hash) }
  } finally {
    await liar.close()
  }
}

describe('inspect', () => {
  test('tells a transaction that the network never saw', async () =>
    expect(await world.chain.node.transactionStatus(hexlify(randomBytes(32)))).toEqual({ status: 'unknown' }))

  test('tells when the confirmations are there', async () => {
    const { hash, block } = await settled()
    for (const [height, isConfirmed] of [
      [block.number - 1n, false],
      [block.number, false],
      [block.number + 8n, false],
      [block.number + 9n, true],
    ] as const) {
      const node = await startAlteringProxy(world.settings.rpcUrls[0]!, ({ method }, reply) =>
        method === 'eth_blockNumber' ? { result: toQuantity(height) } : reply,
      )
      const patient = world.connect({ rpcUrls: [node.url], confirmations: 10 })
      expect(await patient.node.transactionStatus(hash)).toMatchObject({
        status: 'mined',
        block,
        isConfirmed,
      })
      await node.close()
    }
  })

  test('tells a transaction that was reverted, and what that cost', async () => {
    const paid = await signPayment(world.payer, world.terms)
    const first = await world.sign(paid)
    const { signer, nonce } = await world.from()
    const at = { signer, nonce: nonce + 1n }
    const second = await world.signBatch([world.pending(paid)], world.chain, at)
    await world.chain.node.broadcast(second)
    await world.carryOut(first)
    expect(settles(await world.chain.node.transactionStatus(first.hash), paid)).toBe(true)
    const failed = await world.chain.node.transactionStatus(second.hash)
    expect(failed).toMatchObject({ status: 'mined', succeeded: false })
    expect((failed as { fee: bigint }).fee).toBeGreaterThan(0n)
    expect(settles(failed, paid)).toBe(false)
  })

  test.each([
    ['takes a fee', feeTakingToken],
    ['says nothing', silentToken],
    ['does not name the authorization', carelessToken],
  ])('calls no payment settled where the transaction succeeds and the token %s', async (_, code) => {
    const asset = await world.place(code)
    const terms: Terms = { ...world.terms, token: { ...usdc, asset } }
    const paid = await signPayment(world.payer, terms, {}, { ...usdcDomain, verifyingContract: asset })
    expect(await world.settle(paid, terms)).toMatchObject({ succeeded: true, isSettled: false })
  })

  test('does not take the settlement of one payment for that of another', async () => {
    const { hash } = await settled()
    const other = await signPayment(world.payer, world.terms)
    expect(settles(await world.chain.node.transactionStatus(hash), other)).toBe(false)
  })

  test('charges us for nothing that somebody else sent', async () => {
    const { hash } = await settled()
    const other = world.connect({ signerKeys: [world.payer.privateKey] })
    expect(await other.node.transactionStatus(hash)).toMatchObject({ status: 'mined', fee: 0n })
  })

  test('believes no node on its word alone', async () => {
    const isSettledWith = async (change: (receipt: Record<string, unknown>) => unknown) => {
      const { paid, told } = await inspectionWith(change)
      return settles(told, paid)
    }
    expect(await isSettledWith((receipt) => receipt)).toBe(true)
    expect(await isSettledWith((receipt) => ({ ...receipt, status: '0x0' }))).toBe(false)
    expect(await isSettledWith((receipt) => ({ ...receipt, logs: [] }))).toBe(false)

    const statusWith = async (change: object | null) =>
      (await inspectionWith((receipt) => change && { ...receipt, ...change })).told.status
    expect(await statusWith(null)).toBe('waiting')
    expect(await statusWith({ blockHash: hexlify(randomBytes(32)) })).toBe('waiting')
    expect(await statusWith({ blockNumber: '0xffffff' })).toBe('waiting')
    for (const change of [
      { transactionHash: hexlify(randomBytes(32)) },
      { logs: 'none' },
      { status: undefined },
    ])
      await expect(statusWith(change)).rejects.toThrow(
        expect.objectContaining({ name: 'ChainUnavailable' }) as Error,
      )
  })

  test('asks once for the height, and once for a block, on behalf of all that are inspected in one turn', async () => {
    const hashes = [(await settled()).hash, (await settled()).hash, (await settled()).hash]
    const { url, requests, close } = await startAlteringProxy(world.settings.rpcUrls[0]!, (_, reply) => reply)
    const chain = world.connect({ rpcUrls: [url] })
    const told = await Promise.all([...hashes, ...hashes].map((hash) => chain.node.transactionStatus(hash)))
    expect(told.map(({ status }) => status)).toEqual(Array(6).fill('mined'))
    const asked = requests.flat().map(({ method }) => method)
    expect(asked.filter((method) => method === 'eth_blockNumber')).toHaveLength(1)
    expect(asked.filter((method) => method === 'eth_getBlockByNumber')).toHaveLength(3)
    await close()
  })
})
