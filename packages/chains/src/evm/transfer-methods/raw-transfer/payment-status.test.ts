import { toBeHex, toQuantity, type Wallet } from 'ethers'
import { usdc } from '../../testing/authorization'
import { openOwnChain, type OwnChain } from '../../testing/chain'
import { startAlteringProxy, type AlterReply } from '../../../json-rpc/testing/node'
import { signTransfer } from '../../testing/raw-transfer'
import type { RawTransfer } from './payment'

const open = { status: 'open' }
const pending = { status: 'pending' }
const void_ = { status: 'void', reason: 'invalid_transaction_state', detail: expect.any(String) as string }

let world: OwnChain
beforeAll(async () => {
  world = await openOwnChain()
  await world.mine(30)
})
afterAll(() => world.close())

async function settled() {
  const payment = await signTransfer(world.payer, world.terms)
  const mined = await world.carryOut(payment.transaction)
  return {
    payment,
    mined,
    paymentStatus: { status: 'settled', hash: mined.hash, blockNumber: mined.block.number },
  }
}

describe('a raw transfer', () => {
  test('settles as its payer signed it, once, and costs us nothing', async () => {
    const before = await world.balance(world.terms.payTo)
    const { payment, mined, paymentStatus } = await settled()
    expect(mined).toMatchObject({
      succeeded: true,
      isConfirmed: true,
      fee: 0n,
      hash: payment.transaction.hash,
    })
    expect(mined.settles(payment, world.terms)).toBe(true)
    expect(await world.chain.payments.paymentStatus({ payment, terms: world.terms })).toEqual(paymentStatus)
    await world.chain.node.broadcast(payment.transaction)
    await world.mine()
    expect(await world.balance(world.terms.payTo)).toBe(before + world.terms.amount)
    expect(await world.chain.payments.verify({ payment, terms: world.terms, now: new Date() })).toMatchObject(
      {
        reason: 'invalid_transaction_state',
      },
    )
  })

  test('is settled by no other transaction, however alike', async () => {
    const one = await settled()
    const two = await settled()
    expect(one.mined.settles(one.payment, world.terms)).toBe(true)
    expect(one.mined.settles(two.payment, world.terms)).toBe(false)
    const token = { ...usdc, asset: world.terms.payTo }
    expect(one.mined.settles(one.payment, { ...world.terms, token })).toBe(false)
  })
})

describe('the status of a raw transfer is', () => {
  test('open while its account nonce is unused', async () =>
    expect(
      await world.chain.payments.paymentStatus({
        payment: await signTransfer(world.payer, world.terms),
        terms: world.terms,
      }),
    ).toEqual(open))

  test('pending until it has the confirmations', async () => {
    const { payment, paymentStatus } = await settled()
    const patient = world.connect({ confirmations: 60 })
    expect(await patient.payments.paymentStatus({ payment, terms: world.terms })).toEqual(pending)
    await world.mine(59)
    expect(await patient.payments.paymentStatus({ payment, terms: world.terms })).toEqual(paymentStatus)
  })

  test('void where the transfer failed, once that is confirmed', async () => {
    const payer: Wallet = await world.newWallet()
    await world.mint(payer.address, world.terms.amount)
    const nonce = await payer.getNonce()
    const payment = await signTransfer(payer, world.terms, { nonce: nonce + 1 })
    await world.send(payer, usdc.asset, world.tokenCall('transfer', [world.signer.address, 1n]))
    expect(await world.carryOut(payment.transaction)).toMatchObject({ succeeded: false })
    const patient = world.connect({ confirmations: 60 })
    expect(await patient.payments.paymentStatus({ payment, terms: world.terms })).toEqual(pending)
    expect(await world.chain.payments.paymentStatus({ payment, terms: world.terms })).toEqual(void_)
  })

  test('void where another transaction took its account nonce, once every node must know', async () => {
    const payment = await signTransfer(world.payer, world.terms)
    const other = await world.send(world.payer, world.signer.address, '0x')
    const used = BigInt((await world.provider.getTransactionReceipt(other))!.blockNumber)
    const fateAt = async (height: bigint) => {
      const node = await startAlteringProxy(world.settings.rpcUrls[0]!, ({ method }, reply) =>
        method === 'eth_blockNumber' ? { result: toQuantity(height) } : reply,
      )
      try {
        return await world
          .connect({ rpcUrls: [node.url], confirmations: 3 })
          .payments.paymentStatus({ payment, terms: world.terms })
      } finally {
        await node.close()
      }
    }
    await world.mine(20)
    expect(await fateAt(used)).toEqual(pending)
    expect(await fateAt(used + 19n)).toEqual(pending)
    expect(await fateAt(used + 20n)).toEqual(void_)
  })
})

describe('the status of a raw transfer, read from a node that lacks the newest blocks,', () => {
  const lags = expect.objectContaining({ name: 'ChainUnavailable' }) as Error
  let payment: RawTransfer
  let paymentStatus: object
  let seen: bigint

  beforeEach(async () => {
    const one = await settled()
    payment = one.payment
    paymentStatus = one.paymentStatus
    seen = one.mined.block.number
  })

  async function fateBy(lie: AlterReply) {
    const node = await startAlteringProxy(world.settings.rpcUrls[0]!, lie)
    try {
      return await world
        .connect({ rpcUrls: [node.url] })
        .payments.paymentStatus({ payment, terms: world.terms, minBlock: seen })
    } finally {
      await node.close()
    }
  }
  const unmined: AlterReply = ({ method }, reply) =>
    ['eth_getTransactionReceipt', 'eth_getTransactionByHash'].includes(method) ? { result: null } : reply

  test('is found while nothing lags', async () =>
    expect(await fateBy((_, reply) => reply)).toEqual(paymentStatus))

  test('is not open where the node says that it lacks the block', () =>
    expect(
      fateBy(({ method }, reply) =>
        method === 'eth_blockNumber' ? { result: toQuantity(seen - 1n) } : reply,
      ),
    ).rejects.toThrow(lags))

  test('is not open where another node told the height', () =>
    expect(
      fateBy(({ method, params }, reply) => {
        if (method !== 'eth_getTransactionCount') return reply
        return params[1] === 'latest' || BigInt(params[1] as string) < seen
          ? { result: '0x0' }
          : { error: { code: -32000, message: 'header not found' } }
      }),
    ).rejects.toThrow(lags))

  test('is not void where its transaction is not known to a node that lacks the block', async () => {
    await world.mine(50)
    let heights = 0
    await expect(
      fateBy((message, reply) =>
        message.method === 'eth_blockNumber' && heights++ > 0
          ? { result: toQuantity(seen - 1n) }
          : unmined(message, reply),
      ),
    ).rejects.toThrow(lags)
  })

  test('is not void where a node does not know what was mined lately', async () =>
    expect(await fateBy(unmined)).toEqual(pending))

  test('is pending where the block of its transaction is not the chain’s', async () =>
    expect(
      await fateBy(({ method }, reply) =>
        method === 'eth_getBlockByNumber'
          ? { result: { ...(reply.result as object), hash: toBeHex(1, 32) } }
          : reply,
      ),
    ).toEqual(pending))
})
