import { id, toBeHex, toQuantity } from 'ethers'
import { ChainUnavailable } from '../../../errors'
import { type PaymentStatus } from '../../../family'
import { signPayment, usdc } from '../../testing/authorization'
import { openOwnChain, type OwnChain } from '../../testing/chain'
import { startAlteringProxy, type AlterReply } from '../../../json-rpc/testing/node'
import { findingNothing } from '../../testing/node'
import { calls } from './authorization'
import type { AuthorizedPayment } from './payment'

const [FALSE, TRUE] = [toBeHex(0, 32), toBeHex(1, 32)]
/** More blocks than come by themselves within a test. */
const MANY = 50
const void_ = (reason: string) => ({ status: 'void', reason, detail: expect.any(String) as string })

let world: OwnChain
beforeAll(async () => {
  world = await openOwnChain()
})
afterAll(() => world.close())

async function settled() {
  const paid = await signPayment(world.payer, world.terms)
  const { hash, block } = await world.settle(paid)
  return { paid, paymentStatus: { status: 'settled', hash, blockNumber: block.number } }
}

const validFor = (seconds: number) => ({ validBefore: String(Math.floor(Date.now() / 1000) + seconds) })

describe('the status of a payment is', () => {
  test('open while its authorization is unused', async () =>
    expect(
      await world.chain.payments.paymentStatus({
        payment: await signPayment(world.payer, world.terms),
        terms: world.terms,
      }),
    ).toEqual({
      status: 'open',
    }))

  test('settled by any sender', async () => {
    const paid = await signPayment(world.payer, world.terms)
    const hash = await world.send(await world.newWallet(), usdc.asset, calls.transfer(paid, true))
    expect(
      await world.chain.payments.verify({ payment: paid, terms: world.terms, now: new Date() }),
    ).toMatchObject({
      reason: 'invalid_transaction_state',
    })
    expect(await world.chain.payments.paymentStatus({ payment: paid, terms: world.terms })).toEqual({
      status: 'settled',
      hash,
      blockNumber: expect.any(BigInt) as bigint,
    })
  })

  test('pending until its transfer has the confirmations', async () => {
    const { paid, paymentStatus } = await settled()
    const patient = world.connect({ confirmations: MANY })
    expect(await patient.payments.paymentStatus({ payment: paid, terms: world.terms })).toEqual({
      status: 'pending',
    })
    await world.mine(MANY - 1)
    expect(await patient.payments.paymentStatus({ payment: paid, terms: world.terms })).toEqual(paymentStatus)
  })

  test('void where the authorization went to somebody else, for another amount, or was cancelled, once that is confirmed', async () => {
    const { terms, payer } = world
    const patient = world.connect({ confirmations: MANY })
    const elsewhere = async (other: typeof terms) => {
      const paid = await signPayment(payer, terms)
      const used = await signPayment(payer, other, { nonce: paid.nonce })
      await world.send(payer, usdc.asset, calls.transfer(used, true))
      return paid
    }
    const cancelled = async () => {
      const paid = await signPayment(payer, terms)
      await world.cancel(paid)
      return paid
    }
    for (const spoil of [
      () => elsewhere({ ...terms, payTo: payer.address }),
      () => elsewhere({ ...terms, amount: 1n }),
      cancelled,
    ]) {
      const paid = await spoil()
      expect(await world.chain.payments.paymentStatus({ payment: paid, terms })).toMatchObject(
        void_('invalid_transaction_state'),
      )
      expect(await patient.payments.paymentStatus({ payment: paid, terms })).toEqual({ status: 'pending' })
      await world.mine(MANY - 1)
      expect(await patient.payments.paymentStatus({ payment: paid, terms })).toMatchObject(
        void_('invalid_transaction_state'),
      )
    }
  })

  test('void where it lapsed by the clock of the newest confirmed block, and open until then', async () => {
    const paid = await signPayment(world.payer, world.terms, validFor(120))
    /** The chain, when only its last `late` blocks are past the end of the authorization. */
    const fateWith = async (late: bigint) => {
      const height = BigInt(await world.provider.getBlockNumber())
      const node = await startAlteringProxy(world.settings.rpcUrls[0]!, ({ method, params }, reply) => {
        if (method === 'eth_blockNumber') return { result: toQuantity(height) }
        if (method !== 'eth_getBlockByNumber') return reply
        const isLate = params[0] === 'latest' || BigInt(params[0] as string) > height - late
        const timestamp = toQuantity(isLate ? paid.validBefore : paid.validBefore - 1n)
        return { result: { ...(reply.result as object), timestamp } }
      })
      try {
        return await world
          .connect({ rpcUrls: [node.url], confirmations: 3 })
          .payments.paymentStatus({ payment: paid, terms: world.terms })
      } finally {
        await node.close()
      }
    }
    expect(await fateWith(0n)).toEqual({ status: 'open' })
    expect(await fateWith(2n)).toEqual({ status: 'open' })
    expect(await fateWith(3n)).toEqual(void_('payment_expired'))
  })

  test('settled, though it has lapsed since', async () => {
    const { paid, paymentStatus } = await settled()
    const node = await startAlteringProxy(world.settings.rpcUrls[0]!, ({ method }, reply) =>
      method === 'eth_getBlockByNumber'
        ? { result: { ...(reply.result as object), timestamp: toQuantity(paid.validBefore + 1n) } }
        : reply,
    )
    expect(
      await world
        .connect({ rpcUrls: [node.url] })
        .payments.paymentStatus({ payment: paid, terms: world.terms }),
    ).toEqual(paymentStatus)
    await node.close()
  })

  test('unknown if the asset gives no answer, expired or not', async () => {
    const paid = await signPayment(world.payer, world.terms, validFor(-60))
    for (const answer of [{ result: '0x' }, { error: { code: 3, message: 'execution reverted' } }]) {
      const node = await startAlteringProxy(world.settings.rpcUrls[0]!, ({ method }, reply) =>
        method === 'eth_call' ? answer : reply,
      )
      await expect(
        world.connect({ rpcUrls: [node.url] }).payments.paymentStatus({ payment: paid, terms: world.terms }),
      ).rejects.toThrow(ChainUnavailable)
      await node.close()
    }
    expect(await world.chain.payments.paymentStatus({ payment: paid, terms: world.terms })).toEqual(
      void_('payment_expired'),
    )
  })

  test('looked for a long way back, in steps that nodes allow, the newest blocks first', async () => {
    const { paid, paymentStatus } = await settled()
    const later = 5_000n
    const node = await startAlteringProxy(world.settings.rpcUrls[0]!, ({ method }, reply) => {
      if (method === 'eth_blockNumber') return { result: toQuantity(BigInt(reply.result as string) + later) }
      if (method === 'eth_call') return { result: TRUE }
      return method === 'eth_getLogs' && !Array.isArray(reply.result) ? { result: [] } : reply
    })
    const chain = world.connect({ rpcUrls: [node.url] })
    expect(await chain.payments.paymentStatus({ payment: paid, terms: world.terms })).toEqual(paymentStatus)
    await node.close()

    const searched = node.requests
      .flat()
      .filter(({ method }) => method === 'eth_getLogs')
      .map(({ params }) => params[0] as { fromBlock: string; toBlock: string })
      .map(({ fromBlock, toBlock }) => [Number(fromBlock), Number(toBlock)] as const)
      .filter(([first, last]) => first !== last)
    expect(searched.length).toBeGreaterThanOrEqual(3)
    searched.forEach(([first, last], i) => {
      expect(last - first).toBeLessThan(2_000)
      if (i > 0) expect(last).toBe(searched[i - 1]![0] - 1)
    })
  })
})

describe('the status of a payment, read from a node that lacks the newest block,', () => {
  let paid: AuthorizedPayment
  let paymentStatus: PaymentStatus & { status: 'settled' }
  /** The block in which somebody else settled `paid`; the newest. */
  let seen: bigint

  beforeEach(async () => {
    paid = await signPayment(world.payer, world.terms)
    await world.send(await world.newWallet(), usdc.asset, calls.transfer(paid, true))
    const found = await world.chain.payments.paymentStatus({ payment: paid, terms: world.terms })
    if (found.status !== 'settled') throw new Error('The payment did not settle')
    paymentStatus = found
    seen = found.blockNumber
  })

  /** As a chain tells it by way of a node that tells this lie. */
  async function fateBy(lie: AlterReply) {
    const node = await startAlteringProxy(world.settings.rpcUrls[0]!, lie)
    try {
      return await world
        .connect({ rpcUrls: [node.url] })
        .payments.paymentStatus({ payment: paid, terms: world.terms, minBlock: seen })
    } finally {
      await node.close()
    }
  }
  const lags = expect.objectContaining({ name: 'ChainUnavailable' }) as Error

  test('is found while nothing lags', async () =>
    expect(await fateBy((_, reply) => reply)).toEqual(paymentStatus))

  test('is not open where the node says that it lacks the block', () =>
    expect(
      fateBy(({ method }, reply) => {
        if (method === 'eth_blockNumber') return { result: toQuantity(seen - 1n) }
        return method === 'eth_call' ? { result: FALSE } : reply
      }),
    ).rejects.toThrow(lags))

  test('is not open where another node told the height', () =>
    expect(
      fateBy(({ method, params }, reply) => {
        if (method !== 'eth_call') return reply
        return params[1] === 'latest' || BigInt(params[1] as string) < seen
          ? { result: FALSE }
          : { error: { code: -32000, message: 'header not found' } }
      }),
    ).rejects.toThrow(lags))

  test('is not void by a search that ended before the block', async () => {
    // Long ago as it may be: the node may lack as much.
    await world.mine(100)
    let heights = 0
    await expect(
      fateBy(({ method }, reply) => {
        if (method === 'eth_getLogs') return { result: [] }
        return method === 'eth_blockNumber' && heights++ > 0 ? { result: toQuantity(seen - 1n) } : reply
      }),
    ).rejects.toThrow(lags)
  })

  test('is not void by a search that misses what was used lately, and is so later', async () => {
    const missingAt = (height: bigint) => findingNothing({ since: seen, used: TRUE }, height)
    await expect(fateBy(missingAt(seen))).rejects.toThrow(lags)
    await expect(fateBy(missingAt(seen + 19n))).rejects.toThrow(lags)
    expect(await fateBy(missingAt(seen + 20n))).toEqual(void_('invalid_transaction_state'))
  })

  test('is not void by a block that does not hold what the search found in it', () =>
    expect(
      fateBy(({ method, params }, reply) => {
        const { fromBlock, toBlock } = (params[0] ?? {}) as { fromBlock?: string; toBlock?: string }
        return method === 'eth_getLogs' && fromBlock === toBlock ? { result: [] } : reply
      }),
    ).rejects.toThrow(lags))

  test('is not void by a block that holds the use of the authorization, and not what it moved', () =>
    expect(
      fateBy(({ method }, reply) => {
        if (method !== 'eth_getLogs') return reply
        const logs = reply.result as { topics: string[] }[]
        return {
          result: logs.filter(({ topics: [event] }) => event !== id('Transfer(address,address,uint256)')),
        }
      }),
    ).rejects.toThrow(lags))

  test('comes from the receipt where its block holds more than a node tells', async () =>
    expect(
      await fateBy(({ method, params }, reply) => {
        const { fromBlock, toBlock } = (params[0] ?? {}) as { fromBlock?: string; toBlock?: string }
        return method === 'eth_getLogs' && fromBlock === toBlock
          ? { error: { code: -32005, message: 'query returned more than 10000 results' } }
          : reply
      }),
    ).toEqual(paymentStatus))

  test('is found however long the receipt of its transaction is: what else is in there is not read', async () =>
    expect(
      await fateBy(({ method }, reply) =>
        method === 'eth_getTransactionReceipt' ? { error: { code: -32603, message: 'too long' } } : reply,
      ),
    ).toEqual(paymentStatus))

  test('is pending where the block of its transfer is not the chain’s', async () =>
    expect(
      await fateBy(({ method, params }, reply) =>
        method === 'eth_getBlockByNumber' && params[0] === toQuantity(seen)
          ? { result: { ...(reply.result as object), hash: toBeHex(1, 32) } }
          : reply,
      ),
    ).toEqual({ status: 'pending' }))
})
