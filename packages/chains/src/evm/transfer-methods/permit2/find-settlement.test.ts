import { permit2Abi } from '@tollgate/devnet'
import { concat, Interface, MaxUint256, toBeHex, type TransactionRequest, Wallet } from 'ethers'
import { ChainUnavailable } from '../../../errors'
import { type Terms } from '../../../family'
import { aggregate3, MULTICALL3 } from '../../settlement/multicall'
import { inSeconds, usdc } from '../../testing/authorization'
import { constructorThatCalls, creating, delegating, talkative, undoing } from '../../testing/callers'
import { openOwnChain, type OwnChain } from '../../testing/chain'
import { startAlteringProxy, type AlterReply } from '../../../json-rpc/testing/node'
import { permitted, signTransfer } from '../../testing/permit2'
import { PERMIT2, PROXY } from './contracts'
import type { PermittedPayment } from './payment'
import { settlementCall } from './transfer'

const permit2 = new Interface(permit2Abi)
/** So many blocks later every node knows. */
const BLOCKS_APART = 20
/** Nothing longer is read of any node. */
const MOST_BYTES = 8 * 1024 * 1024
const VOID = expect.objectContaining({ status: 'void', reason: 'invalid_transaction_state' }) as unknown

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
  terms = { ...world.terms, payTo: Wallet.createRandom().address, amount: 100n }
})
afterAll(() => world.close())

type Changes = Parameters<typeof signTransfer>[2]
const pay = async (changes?: Changes) => permitted(await signTransfer(payer, terms, changes))

/** Sends a transaction of a stranger's, with gas for all that it does, and mines it. */
async function strangerSends(transaction: TransactionRequest): Promise<string> {
  const { hash } = await stranger.sendTransaction({ gasLimit: 25_000_000, ...transaction })
  await world.mine()
  return hash
}
const strangerCalls = (...calls: { to: string; data: string }[]) =>
  strangerSends({ to: MULTICALL3, data: aggregate3(calls, true) })
const directly = (payment: PermittedPayment) => ({ to: PROXY, data: settlementCall(payment) })

async function giveUp({ permitNonce }: PermittedPayment): Promise<void> {
  const nonces = [permitNonce >> 8n, 1n << (permitNonce & 255n)]
  await world.send(payer, PERMIT2, permit2.encodeFunctionData('invalidateUnorderedNonces', nonces))
  await world.mine(BLOCKS_APART)
}

const settledIn = (hash: string) => ({ status: 'settled', hash, blockNumber: expect.any(BigInt) as bigint })
const fateOf = (payment: PermittedPayment, on = world.chain) => on.payments.paymentStatus({ payment, terms })

/** Asks a node that lies, and tells what it was asked too: the methods of each request, transfers apart from other events. */
async function asking<T>(lie: AlterReply, question: (on: OwnChain['chain']) => Promise<T>) {
  const node = await startAlteringProxy(world.settings.rpcUrls[0]!, lie)
  try {
    const answer = await question(world.connect({ rpcUrls: [node.url] }))
    const asked = node.requests.map((messages) =>
      messages.map(({ method, params }) =>
        method === 'eth_getLogs' && (params[0] as { address: string }).address === usdc.asset
          ? 'transfers'
          : method,
      ),
    )
    const count = (method: string) => asked.flat().filter((one) => one === method).length
    return { answer, asked, count }
  } finally {
    await node.close()
  }
}
const truth: AlterReply = (_, reply) => reply
const isTraceBy = ({ method, params }: Parameters<AlterReply>[0], wanted: (tracer: string) => boolean) =>
  method === 'debug_traceTransaction' && wanted((params[1] as { tracer: string }).tracer)
const refusing =
  (refused: (tracer: string) => boolean): AlterReply =>
  (message, reply) =>
    isTraceBy(message, refused) ? { error: { code: -32000, message: 'no such tracer' } } : reply
const withoutOurs = refusing((tracer) => tracer !== 'callTracer')
const withoutTheirs = refusing((tracer) => tracer === 'callTracer')

describe('of a payment by Permit2, a stranger’s transaction that lies around it tells', () => {
  test('that it settled it, though its receipt and its trace are longer than any answer that is read', async () => {
    const payment = await pay()
    const words = [300n, 24_000n].map((word) => toBeHex(word, 32))
    const to = await world.place(talkative)
    const data = concat([...words, settlementCall(payment), new Uint8Array(30_000)])
    const hash = await strangerSends({ to, data })
    const length = async (method: string, ...params: unknown[]) => {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: [hash, ...params] })
      const headers = { 'content-type': 'application/json' }
      return (await (await fetch(world.settings.rpcUrls[0]!, { method: 'POST', headers, body })).text())
        .length
    }
    expect(await length('eth_getTransactionReceipt')).toBeGreaterThan(MOST_BYTES)
    expect(await length('debug_traceTransaction', { tracer: 'callTracer' })).toBeGreaterThan(MOST_BYTES)

    const traces: number[] = []
    const measured: AlterReply = (message, reply) => {
      if (isTraceBy(message, () => true)) traces.push(JSON.stringify(reply).length)
      return reply
    }
    const { answer } = await asking(measured, (on) => fateOf(payment, on))
    expect(answer).toEqual(settledIn(hash))
    expect(Math.max(...traces)).toBeLessThan(1_000)
  })

  test('that it settled it while it created a contract, by either tracer', async () => {
    const [one, other] = [await pay(), await pay()]
    const hash = await strangerSends({ data: constructorThatCalls(settlementCall(one), false) })
    const creator = await world.place(creating)
    const data = constructorThatCalls(settlementCall(other), false)
    const otherHash = await strangerCalls({ to: creator, data })
    for (const lie of [withoutOurs, withoutTheirs]) {
      const { answer } = await asking(lie, (on) => Promise.all([fateOf(one, on), fateOf(other, on)]))
      expect(answer).toEqual([settledIn(hash), settledIn(otherHash)])
    }
  })

  /** What each tracer alone tells of two payments, the first of them reverted. */
  async function expectVoidBeside(
    hash: string,
    one: PermittedPayment,
    other: PermittedPayment,
    lies: AlterReply[],
  ) {
    for (const lie of lies) {
      const { answer } = await asking(lie, (on) => Promise.all([fateOf(one, on), fateOf(other, on)]))
      expect(answer).toEqual([VOID, settledIn(hash)])
    }
  }

  test('that a call undid it, though an equal payment was settled beside it, by either tracer', async () => {
    const [one, other] = [await pay(), await pay()]
    const undone = { ...directly(one), to: await world.place(undoing) }
    const hash = await strangerCalls(undone, directly(other))
    await giveUp(one)
    await expectVoidBeside(hash, one, other, [withoutOurs, withoutTheirs])
  })

  test('that a creation undid it, though an equal payment was settled beside it, where a tracer tells of that', async () => {
    const [one, other] = [await pay(), await pay()]
    const data = constructorThatCalls(settlementCall(one), true)
    const hash = await strangerCalls({ to: await world.place(creating), data }, directly(other))
    await giveUp(one)
    await expectVoidBeside(hash, one, other, [truth, withoutOurs])
    await expect(asking(withoutTheirs, (on) => fateOf(one, on))).rejects.toThrow(ChainUnavailable)
  })

  test('that its nonce was used by another contract with the code of the proxy, by either tracer', async () => {
    const [one, other] = [await pay(), await pay()]
    const to = await world.place(delegating)
    const twin = await pay({ spender: to, nonce: one.permitNonce.toString() })
    const before = await world.balance(terms.payTo)
    const hash = await strangerCalls({ to, data: settlementCall(twin) }, directly(other))
    expect(await world.balance(terms.payTo)).toBe(before + 2n * terms.amount)
    await world.mine(BLOCKS_APART)
    await expectVoidBeside(hash, one, other, [withoutOurs, withoutTheirs])
  })

  test('nothing by a trace that holds less than the proxy said, nor by one that cannot be had', async () => {
    const payment = await pay()
    const hash = await strangerCalls(directly(payment))
    await world.mine(BLOCKS_APART)
    const less: AlterReply = (message, reply) => (isTraceBy(message, () => true) ? { result: [] } : reply)
    for (const lie of [less, refusing(() => true)])
      await expect(asking(lie, (on) => fateOf(payment, on))).rejects.toThrow(/offers debug_traceTransaction/)
    const { answer, count } = await asking(truth, (on) => fateOf(payment, on))
    expect([answer, count('eth_getTransactionReceipt')]).toEqual([settledIn(hash), 0])
  })

  test('nothing that needs a trace where it settled an equal payment, and that alone', async () => {
    const [one, other] = [await pay(), await pay()]
    await strangerSends(directly(other))
    await giveUp(one)
    const { answer, count } = await asking(truth, (on) => fateOf(one, on))
    expect([answer, count('debug_traceTransaction')]).toEqual([VOID, 0])
  })
})

/** The payer makes so many equal transfers, each in a transaction of its own: in order, so that none waits for another. */
async function transferEqually(times: number): Promise<void> {
  const nonce = await payer.getNonce()
  const data = world.tokenCall('transfer', [terms.payTo, terms.amount])
  for (let i = 0; i < times; i++)
    await payer.sendTransaction({ to: usdc.asset, data, gasLimit: 100_000, nonce: nonce + i })
  await world.mine()
  expect(await payer.getNonce()).toBe(nonce + times)
}

describe('the settlement of a payment by Permit2 is looked for', () => {
  test('among the newest equal transfers first, a few at a time and fifty in all; past that its status is unknown', async () => {
    const payment = await pay()
    const hash = await strangerSends(directly(payment))
    await transferEqually(49)
    const near = await asking(truth, (on) => fateOf(payment, on))
    expect([near.answer, near.count('eth_getTransactionByHash')]).toEqual([settledIn(hash), 50])
    const together = near.asked.map(
      (methods) => methods.filter((one) => one === 'eth_getTransactionByHash').length,
    )
    expect(Math.max(...together)).toBeLessThanOrEqual(10)

    await transferEqually(1)
    await world.mine(BLOCKS_APART)
    const far = await asking(truth, (on) => fateOf(payment, on).catch((error: unknown) => error))
    expect(far.answer).toBeInstanceOf(ChainUnavailable)
    expect((far.answer as Error).message).toMatch(/more than 50 transfers are equal/i)
    expect(far.count('eth_getTransactionByHash')).toBe(50)
  })

  test('no further than it is found', async () => {
    await transferEqually(30)
    const payment = await pay()
    const hash = await strangerSends(directly(payment))
    const { answer, count } = await asking(truth, (on) => fateOf(payment, on))
    expect(answer).toEqual(settledIn(hash))
    expect(count('eth_getTransactionByHash')).toBeLessThanOrEqual(10)
  })

  test('once for all who ask at the same time, and again for later callers', async () => {
    const payment = await pay()
    await transferEqually(1)
    await giveUp(payment)
    const { answer, count } = await asking(truth, async (on) => {
      const together = await Promise.all(Array.from({ length: 20 }, () => fateOf(payment, on)))
      return [...together, await fateOf(payment, on)]
    })
    expect(answer).toEqual(Array(21).fill(VOID))
    expect(count('eth_getTransactionByHash')).toBe(2)
  })

  test('no further back than it could have been settled', async () => {
    await transferEqually(20)
    let last = await world.provider.getBlockNumber()
    const validAfter = inSeconds(-600)
    const payment = await pay({ witness: { to: terms.payTo, validAfter } })
    const early: AlterReply = ({ method, params }, reply) => {
      const number = method === 'eth_getBlockByNumber' ? params[0] : 'latest'
      return number !== 'latest' && Number(number) <= last
        ? { result: { ...(reply.result as object), timestamp: toBeHex(BigInt(validAfter) - 1n) } }
        : reply
    }
    await transferEqually(1)
    await giveUp(payment)
    const near = await asking(early, (on) => fateOf(payment, on))
    expect([near.answer, near.count('eth_getTransactionByHash')]).toEqual([VOID, 1])
    await world.mine(2_000)
    const far = await asking(early, (on) => fateOf(payment, on))
    // Two stretches, and the block of the one that might contain it.
    expect([far.answer, far.count('transfers')]).toEqual([VOID, 3])
    last = await world.provider.getBlockNumber()
    const recent = await pay({ witness: { to: terms.payTo, validAfter } })
    await giveUp(recent)
    const late = await asking(early, (on) => fateOf(recent, on))
    expect([late.answer, late.count('transfers')]).toEqual([VOID, 1])
    const ever = await asking(truth, (on) => fateOf({ ...payment, validAfter: 0n }, on))
    expect([ever.answer, ever.count('eth_getTransactionByHash')]).toEqual([VOID, 21])
  })
})

test('a search for a late transfer looks at no equal transfer from before that time', async () => {
  const [earlier, payment] = [await pay(), await pay()]
  await strangerSends(directly(earlier))
  await giveUp(payment)
  const { timestamp } = (await world.provider.getBlock('latest'))!
  const find = (since: bigint) =>
    asking(truth, (on) => on.payments.findTransfer({ payment, terms, minBlock: 0n, since }))
  const all = await find(0n)
  const late = await find(BigInt(timestamp) + 60n)
  expect([all.answer, late.answer]).toEqual([undefined, undefined])
  expect([all, late].map(({ count }) => count('eth_getTransactionByHash'))).toEqual([1, 0])
})
