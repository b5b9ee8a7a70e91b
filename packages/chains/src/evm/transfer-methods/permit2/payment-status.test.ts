import { permit2Abi } from '@tollgate/devnet'
import { Interface, MaxUint256, toBeHex, toQuantity, Wallet } from 'ethers'
import { ChainUnavailable } from '../../../errors'
import { type PaymentStatus, type Terms } from '../../../family'
import { aggregate3, MULTICALL3 } from '../../settlement/multicall'
import { inSeconds, signPayment, usdc } from '../../testing/authorization'
import { openOwnChain, type OwnChain } from '../../testing/chain'
import { startAlteringProxy, type AlterReply } from '../../../json-rpc/testing/node'
import { findingNothing } from '../../testing/node'
import { permit2Domain, permitted, plainTransferTypes, signTransfer } from '../../testing/permit2'
import { PERMIT2, PROXY } from './contracts'
import type { PermittedPayment } from './payment'
import { settlementCall } from './transfer'

const [FALSE, TRUE] = [toBeHex(0, 32), toBeHex(MaxUint256, 32)]
/** More blocks than come by themselves within a test. */
const MANY = 50
/** After so many every node knows. */
const BLOCKS_APART = 20
const permit2 = new Interface(permit2Abi)
const void_ = (reason: string) => ({ status: 'void', reason, detail: expect.any(String) as string })
const lags = expect.objectContaining({ name: 'ChainUnavailable' }) as Error

let world: OwnChain
/** To a recipient of each test's own, so that it knows of all equal payments. */
let terms: Terms
let payer: Wallet
let stranger: Wallet
beforeAll(async () => {
  world = await openOwnChain()
  payer = await world.newWallet()
  stranger = await world.newWallet()
  await world.mint(payer.address, 1_000_000n)
  await world.send(payer, usdc.asset, world.tokenCall('approve', [PERMIT2, MaxUint256]))
})
beforeEach(() => {
  terms = { ...world.terms, payTo: Wallet.createRandom().address }
})
afterAll(() => world.close())

const pay = async () => permitted(await signTransfer(payer, terms))
const fateOf = (payment: PermittedPayment, on = world.chain, seen?: bigint) =>
  on.payments.paymentStatus({ payment, terms, minBlock: seen })

/** Sends the settlement as anybody may. */
const settledByAnybody = (payment: PermittedPayment): Promise<string> =>
  world.send(stranger, PROXY, settlementCall(payment))

/** Sends several with another call around them, in which each may fail by itself. */
async function settledWithin(...payments: PermittedPayment[]): Promise<string> {
  const calls = payments.map((payment) => ({ to: PROXY, data: settlementCall(payment) }))
  const gasLimit = 1_000_000
  const { hash } = await stranger.sendTransaction({ to: MULTICALL3, data: aggregate3(calls, true), gasLimit })
  await world.mine()
  return hash
}

/** The payer gives its nonce up. */
const giveUp = ({ permitNonce }: PermittedPayment) =>
  world.send(
    payer,
    PERMIT2,
    permit2.encodeFunctionData('invalidateUnorderedNonces', [permitNonce >> 8n, 1n << (permitNonce & 255n)]),
  )

/** The payer uses its nonce for a transfer to somebody else. */
async function useElsewhere({ permitNonce: nonce }: PermittedPayment): Promise<void> {
  const permit = { permitted: { token: usdc.asset, amount: 10_000n }, nonce, deadline: inSeconds(120) }
  const message = { ...permit, spender: stranger.address }
  const signature = await payer.signTypedData(permit2Domain, plainTransferTypes, message)
  const details = { to: stranger.address, requestedAmount: 10_000n }
  const data = permit2.encodeFunctionData('permitTransferFrom', [permit, details, payer.address, signature])
  await world.send(stranger, PERMIT2, data)
}

const settledIn = (hash: string) => ({ status: 'settled', hash, blockNumber: expect.any(BigInt) as bigint })

async function fateBy(lie: AlterReply, payment: PermittedPayment, seen?: bigint, confirmations = 1) {
  const node = await startAlteringProxy(world.settings.rpcUrls[0]!, lie)
  try {
    return await fateOf(payment, world.connect({ rpcUrls: [node.url], confirmations }), seen)
  } finally {
    await node.close()
  }
}

describe('the status of a transfer by Permit2 is', () => {
  test('open while its nonce is unused, whatever else its payer pays', async () => {
    await settledByAnybody(await pay())
    expect(await fateOf(await pay())).toEqual({ status: 'open' })
  })

  test('settled by any sender, among equal payments', async () => {
    const payments = [await pay(), await pay(), await pay()]
    const hashes = [
      await settledByAnybody(payments[0]!),
      (await world.settle(payments[1]!, terms)).hash,
      await settledByAnybody(payments[2]!),
    ]
    await world.settle(await signPayment(payer, terms), terms)
    for (const [i, payment] of payments.entries())
      expect(await fateOf(payment)).toEqual(settledIn(hashes[i]!))
  })

  test('settled where calls of others lie around it, be they equal payments', async () => {
    const [one, other] = [await pay(), await pay()]
    const hash = await settledWithin(one)
    const direct = await settledByAnybody(other)
    expect(await fateOf(one)).toEqual(settledIn(hash))
    expect(await fateOf(other)).toEqual(settledIn(direct))
  })

  test('pending until its transfer has the confirmations', async () => {
    const payment = await pay()
    const hash = await settledByAnybody(payment)
    const patient = world.connect({ confirmations: MANY })
    expect(await fateOf(payment, patient)).toEqual({ status: 'pending' })
    await world.mine(MANY - 1)
    expect(await fateOf(payment, patient)).toEqual(settledIn(hash))
  })

  test('void where its nonce was given up or used elsewhere, once every node knows that and it is confirmed', async () => {
    const patient = world.connect({ confirmations: MANY })
    for (const spoil of [giveUp, useElsewhere]) {
      const payment = await pay()
      await spoil(payment)
      expect(await fateOf(payment)).toEqual({ status: 'pending' })
      await world.mine(BLOCKS_APART)
      expect(await fateOf(payment)).toEqual(void_('invalid_transaction_state'))
      expect(await fateOf(payment, patient)).toEqual({ status: 'pending' })
      await world.mine(MANY - 1)
      expect(await fateOf(payment, patient)).toEqual(void_('invalid_transaction_state'))
    }
  })

  test('void where its nonce was given up, though an equal payment was settled beside it, in any way', async () => {
    for (const settle of [settledByAnybody, settledWithin]) {
      const [one, other] = [await pay(), await pay()]
      const hash = await settle(other)
      await giveUp(one)
      await world.mine(BLOCKS_APART)
      expect(await fateOf(one)).toEqual(void_('invalid_transaction_state'))
      expect(await fateOf(other)).toEqual(settledIn(hash))
    }
  })

  test('void where its call failed beside an equal payment in the same transaction', async () => {
    const [one, other] = [await pay(), await pay()]
    await giveUp(one)
    const hash = await settledWithin(one, other)
    await world.mine(BLOCKS_APART)
    expect(await fateOf(one)).toEqual(void_('invalid_transaction_state'))
    expect(await fateOf(other)).toEqual(settledIn(hash))
  })

  test('void where it lapsed by the clock of the newest confirmed block, and open until then', async () => {
    const payment = await pay()
    const fateWith = async (late: bigint) => {
      const height = BigInt(await world.provider.getBlockNumber())
      return fateBy(
        ({ method, params }, reply) => {
          if (method === 'eth_blockNumber') return { result: toQuantity(height) }
          if (method !== 'eth_getBlockByNumber') return reply
          const isLate = params[0] === 'latest' || BigInt(params[0] as string) > height - late
          const timestamp = toQuantity(isLate ? payment.deadline + 1n : payment.deadline)
          return { result: { ...(reply.result as object), timestamp } }
        },
        payment,
        undefined,
        3,
      )
    }
    expect(await fateWith(0n)).toEqual({ status: 'open' })
    expect(await fateWith(2n)).toEqual({ status: 'open' })
    expect(await fateWith(3n)).toEqual(void_('payment_expired'))
  })

  test('not known where Permit2 does not tell', async () => {
    const payment = await pay()
    for (const answer of [{ result: '0x' }, { error: { code: 3, message: 'execution reverted' } }])
      await expect(
        fateBy(({ method }, reply) => (method === 'eth_call' ? answer : reply), payment),
      ).rejects.toThrow(ChainUnavailable)
  })

  test('not known where calls of others lie around it and no node tells what they did', async () => {
    const payment = await pay()
    await settledWithin(payment)
    await world.mine(MANY)
    await expect(
      fateBy(
        ({ method }, reply) =>
          method === 'debug_traceTransaction' ? { error: { code: -32601, message: 'not found' } } : reply,
        payment,
      ),
    ).rejects.toThrow(/offers debug_traceTransaction/)
  })

  test('settled, where other transfers cannot be told apart by any node and its own can', async () => {
    const payment = await pay()
    const hash = await settledByAnybody(payment)
    await settledWithin(await pay())
    expect(
      await fateBy(
        ({ method }, reply) =>
          method === 'debug_traceTransaction' ? { error: { code: -32601, message: 'not found' } } : reply,
        payment,
      ),
    ).toEqual(settledIn(hash))
  })
})

describe('the status of a transfer by Permit2, read from a node that lacks the newest block,', () => {
  let payment: PermittedPayment
  let paymentStatus: PaymentStatus & { status: 'settled' }
  let seen: bigint

  beforeEach(async () => {
    payment = await pay()
    await settledByAnybody(payment)
    const found = await fateOf(payment)
    if (found.status !== 'settled') throw new Error('The payment did not settle')
    paymentStatus = found
    seen = found.blockNumber
  })

  test('is found while nothing lags', async () =>
    expect(await fateBy((_, reply) => reply, payment, seen)).toEqual(paymentStatus))

  test('is not open where the node says that it lacks the block', () =>
    expect(
      fateBy(
        ({ method }, reply) => {
          if (method === 'eth_blockNumber') return { result: toQuantity(seen - 1n) }
          return method === 'eth_call' ? { result: FALSE } : reply
        },
        payment,
        seen,
      ),
    ).rejects.toThrow(lags))

  test('is not void by a search that ended before the block', async () => {
    await world.mine(100)
    let heights = 0
    await expect(
      fateBy(
        ({ method }, reply) => {
          if (method === 'eth_getLogs') return { result: [] }
          return method === 'eth_blockNumber' && heights++ > 0 ? { result: toQuantity(seen - 1n) } : reply
        },
        payment,
        seen,
      ),
    ).rejects.toThrow(lags)
  })

  test('is pending by a search that misses what was used lately, and void only later', async () => {
    const missingAt = (height: bigint) => findingNothing({ since: seen, used: TRUE }, height)
    expect(await fateBy(missingAt(seen), payment, seen)).toEqual({ status: 'pending' })
    expect(await fateBy(missingAt(seen + BigInt(BLOCKS_APART) - 1n), payment, seen)).toEqual({
      status: 'pending',
    })
    expect(await fateBy(missingAt(seen + BigInt(BLOCKS_APART)), payment, seen)).toEqual(
      void_('invalid_transaction_state'),
    )
  })

  test('is not told of a transaction that the node names and does not know', () =>
    expect(
      fateBy(
        ({ method }, reply) =>
          method === 'eth_getTransactionReceipt' || method === 'eth_getTransactionByHash'
            ? { result: null }
            : reply,
        payment,
        seen,
      ),
    ).rejects.toThrow(lags))

  type Search = { address: string; fromBlock: string; toBlock: string }
  test.each<[string, (search: Search) => boolean]>([
    ['in which the proxy settled nothing', ({ address }) => address === PROXY],
    ['that holds no transfer any more', ({ fromBlock, toBlock }) => fromBlock === toBlock],
  ])('is not told by a transaction %s', async (_, misses) => {
    const missing: AlterReply = ({ method, params }, reply) =>
      method === 'eth_getLogs' && misses(params[0] as Search) ? { result: [] } : reply
    await world.mine(BLOCKS_APART)
    await expect(fateBy(missing, payment, seen)).rejects.toThrow(lags)
  })

  test('is not void by a node that has forgotten what a stranger settled', async () => {
    const another = await pay()
    await settledWithin(another)
    await world.mine(BLOCKS_APART)
    const forgetful: AlterReply = ({ method, params }, reply) => {
      const { fromBlock, toBlock } = (params[0] ?? {}) as Partial<Search>
      return method === 'eth_getLogs' && fromBlock === toBlock ? { result: [] } : reply
    }
    await expect(fateBy(forgetful, another)).rejects.toThrow(lags)
  })

  test('is not told where the block of its transfer is not the chain’s', () =>
    expect(
      fateBy(
        ({ method, params }, reply) =>
          method === 'eth_getBlockByNumber' && params[0] === toQuantity(seen)
            ? { result: { ...(reply.result as object), hash: toBeHex(1, 32) } }
            : reply,
        payment,
        seen,
      ),
    ).rejects.toThrow(lags))
})
