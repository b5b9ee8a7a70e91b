import { hexlify, randomBytes, toBeHex, toQuantity } from 'ethers'
import type { Outcome, Terms } from '../family'
import { signPayment, usdc, usdcDomain } from './testing/authorization'
import { openTestChain, type TestChain } from './testing/chain'
import { carelessToken, feeTakingToken, silentToken } from './testing/contracts'
import { startLyingNode } from './testing/node'
import { calls } from './eip3009'
import type { EvmPayment } from './payment'

const [FALSE, TRUE] = [toBeHex(0, 32), toBeHex(1, 32)]

let world: TestChain
beforeAll(async () => {
  world = await openTestChain()
})
afterAll(() => world.close())

async function settled() {
  const paid = await signPayment(world.payer, world.terms)
  const outcome = await world.settle(paid)
  if (outcome.status !== 'settled') throw new Error('The payment did not settle')
  return { paid, hash: outcome.hash, outcome }
}

/** The outcome as a node tells it that alters the receipts. */
async function outcomeWith(change: (receipt: Record<string, unknown>) => unknown) {
  const { paid, hash } = await settled()
  const liar = await startLyingNode(world.settings.rpcUrls[0]!, ({ method }, reply) =>
    method === 'eth_getTransactionReceipt'
      ? { result: change(reply.result as Record<string, unknown>) }
      : reply,
  )
  try {
    return await world.connect({ rpcUrls: [liar.url] }).outcome(hash, paid, world.terms)
  } finally {
    await liar.close()
  }
}

describe('outcome', () => {
  test('is unknown for a transaction that the network never saw', async () => {
    const paid = await signPayment(world.payer, world.terms)
    const hash = hexlify(randomBytes(32))
    expect(await world.chain.outcome(hash, paid, world.terms)).toEqual({ status: 'unknown' })
  })

  test('is pending until the confirmations are there', async () => {
    const { paid, hash, outcome } = await settled()
    const patient = world.connect({ confirmations: 50 })
    expect(await patient.outcome(hash, paid, world.terms)).toEqual({ status: 'pending' })
    expect(await patient.findSettled(paid, world.terms)).toEqual({ status: 'pending' })
    await world.mine(49)
    expect(await patient.outcome(hash, paid, world.terms)).toEqual(outcome)
    expect(await patient.findSettled(paid, world.terms)).toEqual(outcome)
  })

  test('is failed for a transaction that was reverted, and tells what that cost', async () => {
    const paid = await signPayment(world.payer, world.terms)
    const first = await world.sign(paid)
    const second = await world.chain.sign(paid, world.terms, {
      signer: world.signer.address,
      nonce: (await world.chain.nextNonce(world.signer.address)) + 1n,
    })
    if ('reason' in second) throw new Error(second.detail)
    await world.chain.broadcast(second)
    await world.chain.broadcast(first)
    await world.mine()
    expect(await world.chain.outcome(first.hash, paid, world.terms)).toMatchObject({ status: 'settled' })
    const failed = await world.chain.outcome(second.hash, paid, world.terms)
    expect(failed).toMatchObject({ status: 'failed', reason: 'invalid_transaction_state' })
    expect((failed as { fee: bigint }).fee).toBeGreaterThan(0n)
  })

  test.each([
    ['takes a fee', feeTakingToken],
    ['says nothing', silentToken],
    ['does not name the authorization', carelessToken],
  ])('is failed where the transaction succeeds and the token %s', async (_, code) => {
    const asset = await world.place(code)
    const terms: Terms = { ...world.terms, token: { ...usdc, asset } }
    const paid = await signPayment(world.payer, terms, {}, { ...usdcDomain, verifyingContract: asset })
    expect(await world.settle(paid, terms)).toMatchObject({
      status: 'failed',
      reason: 'invalid_transaction_state',
    })
  })

  test('of one payment is not that of another', async () => {
    const { hash } = await settled()
    const other = await signPayment(world.payer, world.terms)
    expect(await world.chain.outcome(hash, other, world.terms)).toMatchObject({ status: 'failed' })
  })

  test('is never settled on the word of a node alone', async () => {
    expect(await outcomeWith((receipt) => receipt)).toMatchObject({ status: 'settled' })
    expect(await outcomeWith(() => null)).toEqual({ status: 'pending' })
    expect(await outcomeWith((receipt) => ({ ...receipt, status: '0x0' }))).toMatchObject({
      status: 'failed',
    })
    expect(await outcomeWith((receipt) => ({ ...receipt, logs: [] }))).toMatchObject({ status: 'failed' })
    expect(await outcomeWith((receipt) => ({ ...receipt, blockHash: hexlify(randomBytes(32)) }))).toEqual({
      status: 'pending',
    })
    expect(await outcomeWith((receipt) => ({ ...receipt, blockNumber: '0xffffff' }))).toEqual({
      status: 'pending',
    })
    for (const change of [
      { transactionHash: hexlify(randomBytes(32)) },
      { logs: 'none' },
      { status: undefined },
    ])
      await expect(outcomeWith((receipt) => ({ ...receipt, ...change }))).rejects.toThrow(
        expect.objectContaining({ name: 'ChainUnavailable' }) as Error,
      )
  })
})

describe('findSettled', () => {
  test('finds a payment that somebody else sent first, and charges us nothing for it', async () => {
    const paid = await signPayment(world.payer, world.terms)
    const thief = await world.newWallet()
    const hash = await world.send(thief, usdc.asset, calls.transfer(paid, true))
    expect(await world.chain.verify(paid, world.terms, new Date())).toMatchObject({
      reason: 'invalid_transaction_state',
    })
    expect(await world.chain.findSettled(paid, world.terms)).toEqual({
      status: 'settled',
      hash,
      blockNumber: expect.any(BigInt) as bigint,
      fee: 0n,
    })
  })

  test('searches a long way back, in steps that nodes allow, the newest blocks first', async () => {
    const { paid, outcome } = await settled()
    const later = 5_000n
    const node = await startLyingNode(world.settings.rpcUrls[0]!, ({ method }, reply) => {
      if (method === 'eth_blockNumber') return { result: toQuantity(BigInt(reply.result as string) + later) }
      if (method === 'eth_call') return { result: TRUE }
      return method === 'eth_getLogs' && !Array.isArray(reply.result) ? { result: [] } : reply
    })
    const chain = world.connect({ rpcUrls: [node.url] })
    expect(await chain.findSettled(paid, world.terms)).toEqual(outcome)
    await node.close()

    const searched = node.requests
      .flat()
      .filter(({ method }) => method === 'eth_getLogs')
      .map(({ params }) => params[0] as { fromBlock: string; toBlock: string })
      .map(({ fromBlock, toBlock }) => [Number(fromBlock), Number(toBlock)] as const)
    expect(searched.length).toBeGreaterThanOrEqual(3)
    searched.forEach(([first, last], i) => {
      expect(last - first).toBeLessThan(2_000)
      if (i > 0) expect(last).toBe(searched[i - 1]![0] - 1)
    })
  })

  test('finds nothing for an unused authorization', async () =>
    expect(
      await world.chain.findSettled(await signPayment(world.payer, world.terms), world.terms),
    ).toBeUndefined())

  test('finds nothing where the authorization went to somebody else, or for another amount', async () => {
    const { terms, payer } = world
    for (const other of [
      { ...terms, payTo: payer.address },
      { ...terms, amount: 1n },
    ]) {
      const paid = await signPayment(payer, terms)
      const elsewhere = await signPayment(payer, other, { nonce: paid.nonce })
      await world.send(payer, usdc.asset, calls.transfer(elsewhere, true))
      expect(await world.chain.findSettled(paid, terms)).toBeUndefined()
    }
  })
})

/** What a node answers instead of the truth. */
type Lie = Parameters<typeof startLyingNode>[1]

describe('findSettled, of a node that lacks the newest block', () => {
  let paid: EvmPayment
  let settled: Outcome & { status: 'settled' }
  /** The block in which somebody else settled `paid`; the newest. */
  let seen: bigint

  beforeEach(async () => {
    paid = await signPayment(world.payer, world.terms)
    await world.send(await world.newWallet(), usdc.asset, calls.transfer(paid, true))
    const found = await world.chain.findSettled(paid, world.terms)
    if (found?.status !== 'settled') throw new Error('The payment did not settle')
    settled = found
    seen = found.blockNumber
  })

  /** As a chain finds the payment by way of a node that tells this lie. */
  async function findBy(lie: Lie) {
    const node = await startLyingNode(world.settings.rpcUrls[0]!, lie)
    try {
      return await world.connect({ rpcUrls: [node.url] }).findSettled(paid, world.terms, seen)
    } finally {
      await node.close()
    }
  }
  const lags = expect.objectContaining({ name: 'ChainUnavailable' }) as Error

  test('finds the payment while nothing lags', async () =>
    expect(await findBy((_, reply) => reply)).toEqual(settled))

  test('does not take its authorization for unused where the node says that it lacks the block', () =>
    expect(
      findBy(({ method }, reply) => {
        if (method === 'eth_blockNumber') return { result: toQuantity(seen - 1n) }
        return method === 'eth_call' ? { result: FALSE } : reply
      }),
    ).rejects.toThrow(lags))

  test('does not take its authorization for unused where another node told the height', () =>
    expect(
      findBy(({ method, params }, reply) => {
        if (method !== 'eth_call') return reply
        return params[1] === 'latest' || BigInt(params[1] as string) < seen
          ? { result: FALSE }
          : { error: { code: -32000, message: 'header not found' } }
      }),
    ).rejects.toThrow(lags))

  test('does not take a search that ended before the block for one that found nothing', async () => {
    // Long ago as it may be: the node may lack as much.
    await world.mine(100)
    let heights = 0
    await expect(
      findBy(({ method }, reply) => {
        if (method === 'eth_getLogs') return { result: [] }
        return method === 'eth_blockNumber' && heights++ > 0 ? { result: toQuantity(seen - 1n) } : reply
      }),
    ).rejects.toThrow(lags)
  })

  test('does not believe a search that misses what was used lately, and believes it later', async () => {
    const missingAt =
      (height: bigint): Lie =>
      ({ method, params }, reply) => {
        if (method === 'eth_blockNumber') return { result: toQuantity(height) }
        if (method === 'eth_call') return { result: BigInt(params[1] as string) < seen ? FALSE : TRUE }
        return method === 'eth_getLogs' ? { result: [] } : reply
      }
    await expect(findBy(missingAt(seen))).rejects.toThrow(lags)
    await expect(findBy(missingAt(seen + 19n))).rejects.toThrow(lags)
    expect(await findBy(missingAt(seen + 20n))).toBeUndefined()
  })
})
