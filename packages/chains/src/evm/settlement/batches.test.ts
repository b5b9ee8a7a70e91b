import type { Wallet } from 'ethers'
import { MULTICALL3 } from './multicall'
import type { EvmPayment } from '../transfer-methods/payment'
import { signPayment, usdc, usdcDomain } from '../testing/authorization'
import { openOwnChain, type OwnChain } from '../testing/chain'
import { credulousWallet } from '../testing/contracts'
import { startAlteringProxy } from '../../json-rpc/testing/node'

let world: OwnChain
beforeAll(async () => {
  world = await openOwnChain()
})
afterAll(() => world.close())

const times = <T>(count: number, make: (i: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, i) => make(i)))
const pay = (from: Wallet = world.payer) => signPayment(from, world.terms)
const someDue = (count: number) => times(count, async () => world.pending(await pay()))

/** Each batch by the places of its payments in `pending`. */
async function placesOf(pending: ReturnType<OwnChain['pending']>[], on = world.chain) {
  const batches = await on.payments.batches(pending)
  expect(batches.flat()).toHaveLength(pending.length)
  return batches.map((batch) => batch.map((one) => pending.indexOf(one)))
}

describe('batches', () => {
  test('are of fifty at most, in the order given', async () => {
    const pending = await someDue(101)
    const places = await placesOf(pending)
    expect(places.map(({ length }) => length)).toEqual([50, 50, 1])
    expect(places.flat()).toEqual(pending.map((_, i) => i))
  })

  test('hold one asset each', async () => {
    const asset = await world.place('0x00')
    const terms = { ...world.terms, token: { ...usdc, asset } }
    const domain = { ...usdcDomain, verifyingContract: asset }
    const [usd, other] = [
      await someDue(3),
      await times(3, async () => world.pending(await signPayment(world.payer, terms, {}, domain), terms)),
    ]
    const lowerCase = {
      ...usd[2]!,
      terms: { ...world.terms, token: { ...usdc, asset: usdc.asset.toLowerCase() } },
    }
    expect(await placesOf([usd[0]!, other[0]!, usd[1]!, other[1]!, lowerCase, other[2]!])).toEqual([
      [0, 2, 4],
      [1, 3, 5],
    ])
  })

  test('leave alone what went wrong once, and what a contract vouches for', async () => {
    const wallet = await world.newSmartWallet(world.payer)
    const byContract = await signPayment(world.payer, world.terms, { from: wallet })
    const [one, two, three] = await times(3, () => pay())
    const pending = [
      world.pending(one!),
      world.pending(two!, world.terms, true),
      world.pending(byContract),
      world.pending(three!),
    ]
    expect(await placesOf(pending)).toEqual([[0, 3], [1], [2]])
  })

  test('leave alone an account with a key whose code could burn the gas of the others', async () => {
    const payer = await world.newWallet()
    await world.mint(payer.address, world.terms.amount)
    await world.provider.send('anvil_setCode', [payer.address, credulousWallet])
    const pending = [...(await someDue(2)), world.pending(await pay(payer)), ...(await someDue(1))]
    expect(
      await world.chain.payments.verify({
        payment: pending[2]!.payment,
        terms: world.terms,
        now: new Date(),
      }),
    ).toBeUndefined()
    expect(await placesOf(pending)).toEqual([[0, 1, 3], [2]])
  })

  test('hold one payment of a payer that is a contract, and none where others of its are on their way', async () => {
    const wallet = await world.newSmartWallet(world.payer)
    const byContract = async () =>
      world.pending(await signPayment(world.payer, world.terms, { from: wallet }))
    const [first, second] = [await byContract(), await byContract()]
    const [plain] = await someDue(1)
    const behind = { isBehind: true }
    expect(await world.chain.payments.batches([first, plain!, second])).toEqual([[first], [plain]])
    expect(await world.chain.payments.batches([{ ...first, ...behind }, plain!])).toEqual([[plain]])
    expect(await world.chain.payments.batches([{ ...first, ...behind }])).toEqual([])
    expect(await world.chain.payments.batches([{ ...plain!, ...behind }])).toHaveLength(1)
  })

  test('hold none behind another where the node does not tell what its payer is', async () => {
    const pending = (await someDue(2)).map((one, i) => ({ ...one, isBehind: i === 1 }))
    const node = await startAlteringProxy(world.settings.rpcUrls[0]!, ({ method }, reply) =>
      method === 'eth_getCode' ? { error: { code: -32603, message: 'internal error' } } : reply,
    )
    expect(await world.connect({ rpcUrls: [node.url] }).payments.batches(pending)).toEqual([[pending[0]]])
    await node.close()
  })

  test('wait for a network that has Multicall3, which is asked no more once it has', async () => {
    const pending = await someDue(3)
    let code: 'none' | 'unknown' | 'there' = 'none'
    const node = await startAlteringProxy(world.settings.rpcUrls[0]!, ({ method, params }, reply) => {
      if (method !== 'eth_getCode' || params[0] !== MULTICALL3 || code === 'there') return reply
      return code === 'none' ? { result: '0x' } : { error: { code: -32603, message: 'internal error' } }
    })
    const chain = world.connect({ rpcUrls: [node.url] })
    const questions = () =>
      node.requests
        .flat()
        .filter(({ method, params }) => method === 'eth_getCode' && params[0] === MULTICALL3).length

    expect(await placesOf(pending.slice(0, 1), chain)).toEqual([[0]])
    expect(questions()).toBe(0)
    expect(await placesOf(pending, chain)).toEqual([[0], [1], [2]])
    code = 'unknown'
    expect(await placesOf(pending, chain)).toEqual([[0], [1], [2]])
    code = 'there'
    expect(await placesOf(pending, chain)).toEqual([[0, 1, 2]])
    expect(questions()).toBe(3)
    code = 'none'
    expect(await placesOf(pending, chain)).toEqual([[0, 1, 2]])
    expect(questions()).toBe(3)
    await node.close()
  })

  test('of nothing are none', async () => expect(await world.chain.payments.batches([])).toEqual([]))
})

describe('a batch', () => {
  test('of fifty settles all but the one whose payer has spent its money since it was signed', async () => {
    const spender = await world.newWallet()
    await world.mint(spender.address, world.terms.amount)
    const spoilt = await pay(spender)
    const sound = (await someDue(49)).map(({ payment }) => payment)
    const payments: EvmPayment[] = [...sound.slice(0, 20), spoilt, ...sound.slice(20)]
    const signed = await world.signBatch(payments.map((payment) => world.pending(payment)))
    await world.send(spender, usdc.asset, world.tokenCall('transfer', [world.signer.address, 1n]))

    const before = await world.balance(world.terms.payTo)
    const mined = await world.carryOut(signed)
    expect(mined).toMatchObject({ succeeded: true, isConfirmed: true })
    expect(payments.filter((payment) => !mined.settles(payment, world.terms))).toEqual([spoilt])
    expect(await world.balance(world.terms.payTo)).toBe(before + 49n * world.terms.amount)
    expect(await world.chain.payments.paymentStatus({ payment: spoilt, terms: world.terms })).toEqual({
      status: 'open',
    })
    expect(
      await world.chain.payments.paymentStatus({ payment: sound[0]!, terms: world.terms }),
    ).toMatchObject({
      status: 'settled',
      hash: signed.hash,
    })
  })

  test('settles one payment next to another that somebody cancels first', async () => {
    const [kept, cancelled] = await times(2, () => pay())
    const signed = await world.signBatch([world.pending(kept!), world.pending(cancelled!)])
    await world.cancel(cancelled!)
    const mined = await world.carryOut(signed)
    expect(mined.settles(kept!, world.terms)).toBe(true)
    expect(mined.settles(cancelled!, world.terms)).toBe(false)
  })

  test('costs less gas per payment than each alone, and no more in all than was told', async () => {
    await world.settle(await pay())
    const gasOf = async (hash: string) => (await world.provider.getTransactionReceipt(hash))!.gasUsed
    const alone = await gasOf((await world.settle(await pay())).hash)
    const signed = await world.signBatch(await someDue(10))
    const { fee } = await world.carryOut(signed)
    expect((await gasOf(signed.hash)) / 10n).toBeLessThan((alone * 4n) / 5n)
    expect(fee).toBeLessThanOrEqual(signed.cost)
  })

  test('is refused as a whole where one of its payments would fail now', async () => {
    const cancelled = await pay()
    await world.cancel(cancelled)
    const batch = [...(await someDue(2)), world.pending(cancelled)]
    expect(await world.chain.signer.prepare(batch, await world.from())).toMatchObject({
      reason: 'invalid_transaction_state',
    })
  })

  test('may have the gas of all its payments, and never more than a transaction may have', async () => {
    const node = await startAlteringProxy(world.settings.rpcUrls[0]!, (_, reply) => reply)
    const allowedWith = async (maxGas: bigint, count: number) => {
      const chain = world.connect({ rpcUrls: [node.url], maxGas })
      node.requests.length = 0
      const told = await chain.signer.prepare(await someDue(count), await world.from())
      const estimates = node.requests.flat().filter(({ method }) => method === 'eth_estimateGas')
      return { told, allowed: BigInt((estimates[0]!.params[0] as { gas: string }).gas) }
    }
    expect(await allowedWith(300_000n, 3)).toMatchObject({
      allowed: 900_000n,
      told: { bytes: expect.any(Uint8Array) as Uint8Array },
    })
    expect(await allowedWith(40_000n, 3)).toMatchObject({
      allowed: 120_000n,
      told: { reason: 'invalid_transaction_state' },
    })
    for (const [maxGas, count] of [
      [10_000_000n, 2],
      [30_000_000n, 1],
    ] as const)
      expect(await allowedWith(maxGas, count)).toMatchObject({ allowed: 16_777_216n })
    await node.close()
  })

  test('of none is a mistake', async () =>
    expect(world.chain.signer.prepare([], await world.from())).rejects.toThrow('at least one payment'))
})
