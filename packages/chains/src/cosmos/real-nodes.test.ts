import { ChainUnavailable, NodeStarting, TransactionRejected } from '../errors'
import { type AlterReply, startAlteringProxy } from '../json-rpc/testing/node'
import { hashOf } from './rpc-schemas'
import { broadcast } from './settlement/broadcast'
import type { CosmosPayment } from './transfer-methods/bank-send/payment'
import { type PayerSigned, readPayerSigned } from './testing/payer-signed'
import { payloadOf } from './testing/transaction'
import { feeOf, openVerifying, type Verifying } from './testing/verifying'

let verifying: Verifying
let world: Verifying['world']
beforeAll(async () => {
  verifying = await openVerifying()
  world = verifying.world
})
afterAll(() => verifying.close())
afterEach(async () => {
  await world.ask('dev_dropPending')
  await world.ask('dev_setServices', true)
  await world.ask('dev_setMinimumGasPrice', '0.025uatom')
  await world.ask('dev_setSimulatedPercent', '100')
})

/** What this payment's first message would take in a block, as the node simulates it. */
async function simulated({ tx }: CosmosPayment): Promise<bigint> {
  const answer = await world.network.rpc.simulate(tx.bytes)
  if ('failure' in answer) throw new Error(answer.failure)
  return answer.gasUsed
}

const verify = (payment: CosmosPayment, urls = [world.rpcUrl]) =>
  verifying.connect({ rpcUrls: urls }).payments.verify({ payment, terms: world.terms, now: new Date() })

describe('a node whose gRPC and REST servers are both off', () => {
  test('is named, and makes the network unusable only where no other can simulate', async () => {
    const sound = await startAlteringProxy(world.rpcUrl, ({ params }, reply) => {
      const { path = '' } = params as unknown as { path?: string }
      return path.endsWith('/Simulate')
        ? { result: { response: { code: 18, codespace: 'sdk', log: 'empty txBytes is not allowed' } } }
        : reply
    })
    const problem = 'cannot simulate transactions: turn its gRPC or its REST server on'
    const check = (...rpcUrls: string[]) => verifying.connect({ rpcUrls }).node.check?.()
    expect(await check(world.rpcUrl)).toEqual({ problems: [], isUsable: true })

    await world.ask('dev_setServices', false)
    expect(await check(world.rpcUrl)).toEqual({ problems: [`node 1 ${problem}`], isUsable: false })
    expect(await check(sound.url, world.rpcUrl)).toEqual({ problems: [`node 2 ${problem}`], isUsable: true })
    // Of a node that gives no answer nothing is said.
    expect(await check('http://127.0.0.1:9', world.rpcUrl)).toMatchObject({ isUsable: true })
    await expect(verify(await world.pay(await world.newPayer()))).rejects.toThrow(ChainUnavailable)
    await sound.close()
  })
})

describe('gas, where simulation finds 3 % less than a block takes', () => {
  test('is refused as simulated, taken with the margin, and suffices then', async () => {
    await world.ask('dev_setSimulatedPercent', '97')
    const payer = await world.newPayer()
    const payWith = (gas: bigint) => world.pay(payer, { fee: feeOf({ gas }) })
    const found = await simulated(await payWith(90_000n))

    const asks = found + (found * 5n + 99n) / 100n
    for (const gas of [found, asks - 1n])
      expect(await verify(await payWith(gas))).toEqual({
        reason: 'invalid_payment',
        detail: `gas ${gas}, simulated ${found} with a margin of 5 % asks ${asks}`,
      })
    const enough = await payWith(asks)
    expect(await verify(enough)).toBeUndefined()
    // What public clients set by themselves (CosmJS: 1.3 and 1.4 times what is simulated).
    for (const tenths of [13n, 14n])
      expect(await verify(await payWith((found * tenths) / 10n))).toBeUndefined()
    expect(await world.carryOut(enough)).toMatchObject({ succeeded: true })
  })
})

describe('a fee below the minimum of a node', () => {
  const short = async () => {
    await world.ask('dev_setMinimumGasPrice', '0.0300001uatom')
    return world.pay(await world.newPayer(), { fee: feeOf({ gas: 200_000n }) })
  }
  const send = (payment: PayerSigned, urls?: string[]) =>
    broadcast(urls === undefined ? world.network : world.connect({ urls }), payment.transaction)

  test('is refused with what it asks, where every node that was sent it says so', async () => {
    const payment = await short()
    const refused = {
      verdict: { reason: 'invalid_payment', detail: 'fee 5000uatom, this node asks 6001uatom' },
    }
    const [alone, twice, withDead] = await Promise.all(
      [[world.rpcUrl], [world.rpcUrl, world.rpcUrl], ['http://127.0.0.1:9', world.rpcUrl]].map((urls) =>
        send(payment, urls).catch((error: unknown) => error),
      ),
    )
    for (const error of [alone, twice, withDead]) {
      expect(error).toBeInstanceOf(TransactionRejected)
      expect(error).toMatchObject(refused)
    }
  })

  test('is offered to the other nodes, of which one may ask less', async () => {
    const payment = await short()
    const cheap = await startAlteringProxy(world.rpcUrl, ({ method, params }, reply) => {
      if (method !== 'broadcast_tx_sync') return reply
      const { tx } = params as unknown as { tx: string }
      return {
        result: { code: 0, codespace: '', log: '', data: '', hash: hashOf(Buffer.from(tx, 'base64')) },
      }
    })
    await send(payment, [world.rpcUrl, cheap.url])
    await cheap.close()
  })

  test('is no verdict while another node may have it: one that was sent it gave no answer', async () => {
    const payment = await short()
    const silent = await startAlteringProxy(world.rpcUrl, ({ method }, reply) =>
      method === 'broadcast_tx_sync' ? { result: 'nonsense' } : reply,
    )
    for (const urls of [
      [world.rpcUrl, silent.url],
      [silent.url, world.rpcUrl],
    ])
      await expect(send(payment, urls)).rejects.toThrow(ChainUnavailable)
    await silent.close()
  })
})

describe('a node that was just started', () => {
  test('refuses good transactions until its first block, which is no verdict', async () => {
    const payment = await world.pay(await world.newPayer())
    await world.ask('dev_restart')
    await expect(broadcast(world.network, payment.transaction)).rejects.toThrow(NodeStarting)
    await world.mine()
    expect(await world.carryOut(payment)).toMatchObject({ succeeded: true })
  })

  test('leaves it to another node', async () => {
    const starting: AlterReply = ({ method, params }, reply) => {
      if (method !== 'broadcast_tx_sync') return reply
      const { tx } = params as unknown as { tx: string }
      const log =
        'signature verification failed; please verify account number (0) and chain-id (x): (unable to verify single signer signature): unauthorized'
      return { result: { code: 4, codespace: 'sdk', log, data: '', hash: hashOf(Buffer.from(tx, 'base64')) } }
    }
    const node = await startAlteringProxy(world.rpcUrl, starting)
    const payment = await world.pay(await world.newPayer())
    await expect(broadcast(world.connect({ urls: [node.url] }), payment.transaction)).rejects.toThrow(
      NodeStarting,
    )
    await broadcast(world.connect({ urls: [node.url, world.rpcUrl] }), payment.transaction)
    await world.mine()
    expect(await world.network.rpc.tx(payment.transaction.hash)).toMatchObject({ code: 0 })
    await node.close()
  })

  test('is no excuse for a signature that is wrong', async () => {
    const payment = await world.pay(await world.newPayer(), { accountNumber: 9_999n })
    const error = await broadcast(world.network, payment.transaction).catch((problem: unknown) => problem)
    expect(error).toBeInstanceOf(TransactionRejected)
  })
})

describe('a payer that was funded after the newest block of the first node', () => {
  /** A node whose chain ends at the block that is the newest now. */
  async function behind() {
    const height = String(await world.height())
    const status = (await world.ask('status')) as object
    return startAlteringProxy(world.rpcUrl, async ({ method, params }, reply) => {
      const named = params as unknown as Record<string, string>
      if (method === 'status') return { result: status }
      if (method === 'abci_query' && named['height'] === '0' && !named['path']?.endsWith('/Simulate'))
        return { result: await world.ask('abci_query', ...[named['path'], named['data'], height, false]) }
      if (method !== 'broadcast_tx_sync') return reply
      const { tx = '' } = named
      const log = 'fee payer address: cosmos1x does not exist: unknown address'
      return { result: { code: 9, codespace: 'sdk', log, data: '', hash: hashOf(Buffer.from(tx, 'base64')) } }
    })
  }

  test('is taken by the word of the second one, which takes its transaction too', async () => {
    const node = await behind()
    const payer = await world.newPayer()
    const draft = await world.draft(payer)
    const payment = readPayerSigned(payloadOf(payer, draft))
    expect(await verify(payment, [node.url])).toMatchObject({ reason: 'insufficient_funds' })
    expect(await verify(payment, [node.url, world.rpcUrl])).toBeUndefined()
    await broadcast(world.connect({ urls: [node.url, world.rpcUrl] }), payment.transaction)
    await world.mine()
    expect(await world.network.rpc.tx(payment.transaction.hash)).toMatchObject({ code: 0 })
    await node.close()
  })
})
