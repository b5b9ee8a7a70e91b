import { ChainUnavailable, TransactionRejected } from '../../errors'
import { type AlterReply, startAlteringProxy } from '../../json-rpc/testing/node'
import { hashOf } from '../rpc-schemas'
import { broadcast } from './broadcast'
import type { PayerSigned } from '../testing/payer-signed'
import { openOwnChain, type OwnChain } from '../testing/chain'

let world: OwnChain
beforeAll(async () => {
  world = await openOwnChain()
})
afterAll(() => world.close())

const send = ({ transaction }: PayerSigned) => broadcast(world.network, transaction)

async function sendBy(lie: AlterReply, { transaction }: PayerSigned) {
  const node = await startAlteringProxy(world.rpcUrl, lie)
  try {
    await broadcast(world.connect({ urls: [node.url] }), transaction)
  } finally {
    await node.close()
  }
}
/** A node that answers what is offered to it with a code, or with an internal error. */
const saying =
  (told: { code: number; codespace: string } | { data: string }): AlterReply =>
  ({ method, params }, reply) => {
    if (method !== 'broadcast_tx_sync') return reply
    if ('data' in told) return { error: { code: -32603, message: 'Internal error', ...told } }
    const { tx } = params as unknown as { tx: string }
    return { result: { data: '', log: 'the log', hash: hashOf(Buffer.from(tx, 'base64')), ...told } }
  }

describe('a signed transaction', () => {
  test('is sent, and sent again without harm, before and after it is mined', async () => {
    const payment = await world.pay(await world.newPayer())
    await send(payment)
    await send(payment)
    await world.mine()
    await send(payment)
    await world.mine()
    expect(await world.network.rpc.balance(world.terms.payTo, 'uatom')).toBe(10_000n)
  })

  test('is done where it is mined, whatever a node that has forgotten it says', async () => {
    const payment = await world.pay(await world.newPayer())
    await world.carryOut(payment)
    await sendBy(saying({ code: 32, codespace: 'sdk' }), payment)
    await sendBy(saying({ code: 19, codespace: 'sdk' }), payment)
  })

  test('is rejected where its sequence went to another', async () => {
    const payer = await world.newPayer()
    const payment = await world.pay(payer)
    await world.carryOut(await world.pay(payer, { memo: 'another' }))
    await expect(send(payment)).rejects.toThrow(TransactionRejected)
  })

  test('has to wait while its sequence is past the next, or another that waits has it', async () => {
    const payer = await world.newPayer()
    await expect(send(await world.pay(payer, { sequence: 1n }))).rejects.toThrow(ChainUnavailable)
    const payment = await world.pay(payer)
    await world.offer((await world.pay(payer, { memo: 'another' })).tx.bytes)
    await expect(send(payment)).rejects.toThrow(ChainUnavailable)
    await world.ask('dev_dropPending')
    await send(payment)
    await world.mine()
    expect(await world.network.rpc.tx(payment.transaction.hash)).toMatchObject({ code: 0 })
  })

  test.each<[string, (payer: Awaited<ReturnType<OwnChain['newPayer']>>) => Promise<PayerSigned>]>([
    ['was signed for another chain', (payer) => world.pay(payer, { chainId: 'cosmoshub-4' })],
    ['was signed for another account', (payer) => world.pay(payer, { accountNumber: 9_999n })],
    [
      'offers too little',
      (payer) =>
        world.pay(payer, {
          fee: { amount: [{ denom: 'uatom', amount: '1' }], gas: 200_000n, payer: '', granter: '' },
        }),
    ],
    [
      'offers what its payer does not have',
      (payer) =>
        world.pay(payer, {
          fee: { amount: [{ denom: 'uatom', amount: '2000000' }], gas: 200_000n, payer: '', granter: '' },
        }),
    ],
    ['has too long a memo', (payer) => world.pay(payer, { memo: 'x'.repeat(257) })],
    ['has timed out', (payer) => world.pay(payer, { timeoutHeight: 1n })],
    [
      'names a granter who grants nothing',
      (payer) =>
        world.pay(payer, {
          fee: {
            amount: [{ denom: 'uatom', amount: '5000' }],
            gas: 200_000n,
            payer: '',
            granter: world.signer.address,
          },
        }),
    ],
  ])('is rejected where it %s', async (_, of) => {
    const payment = await of(await world.newPayer())
    await expect(send(payment)).rejects.toThrow(TransactionRejected)
  })

  test.each([
    ['a full mempool', { data: 'mempool is full: number of txs 5000 (max: 5000)' }],
    ['a full mempool of its application', { code: 20, codespace: 'sdk' }],
    ['a panic', { code: 111222, codespace: 'undefined' }],
    ['nothing that is known', { data: 'broken pipe' }],
  ])('has to wait where the node tells of %s', async (_, told) => {
    const payment = await world.pay(await world.newPayer())
    await expect(sendBy(saying(told), payment)).rejects.toThrow(ChainUnavailable)
  })

  test.each([
    ['a code of a module', { code: 7, codespace: 'feegrant' }],
    ['its size', { data: 'Tx too large. Max size is 1, but got 300' }],
  ])('is rejected where the node refuses it for %s', async (_, told) => {
    const payment = await world.pay(await world.newPayer())
    // Not offered to the chain behind it, so that the answer alone decides.
    const lie: AlterReply = (message, reply) => {
      if (message.method === 'tx')
        return { error: { code: -32603, message: 'Internal error', data: 'tx (AB) not found' } }
      const answer = saying(told)(message, reply)
      return answer
    }
    await expect(sendBy(lie, payment)).rejects.toThrow(TransactionRejected)
  })
})
