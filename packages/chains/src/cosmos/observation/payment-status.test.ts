import { SignMode } from 'cosmjs-types/cosmos/tx/signing/v1beta1/signing'
import { AuthInfo, TxBody, TxRaw } from 'cosmjs-types/cosmos/tx/v1beta1/tx'
import { type AlterReply, startAlteringProxy } from '../../json-rpc/testing/node'
import { hashOf } from '../rpc-schemas'
import { findTransfer } from './payment-status'
import { transactionStatus } from './transaction-status'
import type { CosmosNetwork } from '../network'
import type { PayerSigned } from '../testing/payer-signed'
import { openOwnChain, type OwnChain } from '../testing/chain'
import type { TestWallet } from '../testing/transaction'

const open = { status: 'open' }
const pending = { status: 'pending' }
const void_ = (reason = 'invalid_transaction_state', detail: unknown = expect.any(String)) => ({
  status: 'void',
  reason,
  detail,
})
const lags = expect.objectContaining({ name: 'ChainUnavailable' }) as Error

let world: OwnChain
beforeAll(async () => {
  world = await openOwnChain()
})
afterAll(() => world.close())

async function settledBy(hash: string) {
  const found = await world.network.rpc.tx(hash)
  return { status: 'settled', hash, blockNumber: found?.height }
}

const asItIs = (bytes: Uint8Array): Uint8Array => bytes

/** The same send in other bytes: any third party can re-encode a transaction signed in amino JSON. */
function inOtherBytes(
  { tx }: PayerSigned,
  { body = asItIs, authInfo = asItIs }: Record<string, (bytes: Uint8Array) => Uint8Array>,
) {
  const { signatures } = tx
  const parts = { bodyBytes: body(tx.bodyBytes), authInfoBytes: authInfo(tx.authInfoBytes) }
  return TxRaw.encode({ ...parts, signatures: [...signatures] }).finish()
}
function withoutKey(bytes: Uint8Array): Uint8Array {
  const { signerInfos, fee } = AuthInfo.decode(bytes)
  const signers = signerInfos.map(({ modeInfo, sequence }) => ({ ...(modeInfo && { modeInfo }), sequence }))
  return AuthInfo.encode(AuthInfo.fromPartial({ signerInfos: signers, ...(fee && { fee }) })).finish()
}

/** Memo before message, which ADR-027 forbids and an amino JSON signature does not cover. */
function turnedRound(bytes: Uint8Array): Uint8Array {
  const { messages, memo } = TxBody.decode(bytes)
  const parts = [{ memo }, { messages }].map((part) => TxBody.encode(TxBody.fromPartial(part)).finish())
  return new Uint8Array(Buffer.concat(parts))
}

/** A payment in amino JSON of a payer whose key is on the chain. */
async function aminoPayment() {
  const payer = await world.newPayer()
  await world.carryOut(await world.pay(payer))
  return world.pay(payer, { mode: SignMode.SIGN_MODE_LEGACY_AMINO_JSON, memo: 'for a call' })
}

describe('the status of a payment is', () => {
  test('open while its sequence is unused, also if the account does not exist', async () => {
    const payer = await world.newPayer()
    const payment = await world.pay(payer)
    expect(await world.paymentStatus(payment)).toEqual(open)
    const stranger = await world.pay({ ...payer, address: world.terms.payTo })
    expect(await world.paymentStatus(stranger)).toEqual(open)
  })

  test('settled once mined, with its hash and block', async () => {
    const payment = await world.pay(await world.newPayer())
    await world.carryOut(payment)
    expect(await world.paymentStatus(payment)).toEqual(await settledBy(payment.transaction.hash))
  })

  test('settled if its payer broadcast it', async () => {
    const payment = await world.pay(await world.newPayer())
    await world.offer(payment.tx.bytes)
    expect(await world.paymentStatus(payment)).toEqual(open)
    await world.mine()
    expect(await world.paymentStatus(payment)).toEqual(await settledBy(payment.transaction.hash))
  })

  test('pending until it has the confirmations', async () => {
    const payment = await world.pay(await world.newPayer())
    await world.carryOut(payment)
    const patient = world.connect({ confirmations: 4 })
    expect(await world.paymentStatus(payment, patient)).toEqual(pending)
    await world.mine(3)
    expect(await world.paymentStatus(payment, patient)).toEqual(await settledBy(payment.transaction.hash))
  })

  test.each<[string, Parameters<typeof inOtherBytes>[1]]>([
    ['without the key, which is on the chain', { authInfo: withoutKey }],
    ['with its fields in another order', { body: turnedRound }],
  ])('settled if a third party broadcast the same send %s', async (_, change) => {
    const payment = await aminoPayment()
    const bytes = inOtherBytes(payment, change)
    const hash = hashOf(bytes)
    expect(hash).not.toBe(payment.transaction.hash)
    await world.offer(bytes)
    await world.mine()
    expect(await world.paymentStatus(payment)).toEqual(await settledBy(hash))
    expect(await transactionStatus(world.network, payment.transaction.hash)).toEqual({ status: 'unknown' })
    const theirs = await transactionStatus(world.network, hash)
    expect(theirs.status === 'mined' && theirs.settles(payment, world.terms)).toBe(true)
  })

  test('void if another transaction of its payer used its sequence', async () => {
    const payer = await world.newPayer()
    const payment = await world.pay(payer)
    await world.carryOut(await world.pay(payer, { memo: 'for something else', to: world.signer.address }))
    expect(await world.paymentStatus(payment)).toEqual(
      void_('invalid_transaction_state', 'another transaction of the payer used the sequence'),
    )
  })

  test('settled by the same send with the same sequence and another memo', async () => {
    const payer = await world.newPayer()
    const payment = await world.pay(payer)
    const again = await world.pay(payer, { memo: 'again' })
    await world.carryOut(again)
    expect(await world.paymentStatus(payment)).toEqual(await settledBy(again.transaction.hash))
  })

  test('void if the send failed in its block, although the node accepted it', async () => {
    const payer = await world.newPayer(100_000n)
    const all = await world.pay(payer, {
      coins: [{ denom: 'uatom', amount: '85000' }],
      to: world.signer.address,
    })
    const payment = await world.pay(payer, { sequence: 1n })
    await world.offer(all.tx.bytes)
    await world.offer(payment.tx.bytes)
    await world.mine()
    expect(await transactionStatus(world.network, payment.transaction.hash)).toMatchObject({
      status: 'mined',
      succeeded: false,
    })
    const detail = expect.stringContaining('code 5 (sdk)') as string
    expect(await world.paymentStatus(payment)).toEqual(void_('invalid_transaction_state', detail))
    const patient = world.connect({ confirmations: 2 })
    expect(await world.paymentStatus(payment, patient)).toEqual(pending)
  })

  test('open if it failed before it used its sequence, and settled when it is mined again', async () => {
    const payer = await world.newPayer(100_000n)
    const all = await world.pay(payer, {
      coins: [{ denom: 'uatom', amount: '95000' }],
      to: world.signer.address,
    })
    const payment = await world.pay(payer, { sequence: 1n })
    await world.offer(all.tx.bytes)
    await world.offer(payment.tx.bytes)
    await world.mine()
    expect(await world.network.rpc.tx(payment.transaction.hash)).toMatchObject({ code: 5, isCharged: false })
    expect(await transactionStatus(world.network, payment.transaction.hash)).not.toMatchObject({
      status: 'mined',
    })
    expect(await world.paymentStatus(payment)).toEqual(open)
    await world.fund(payer.address, 100_000n)
    await world.carryOut(payment)
    expect(await world.paymentStatus(payment)).toEqual(await settledBy(payment.transaction.hash))
  })

  test('settled by other bytes, if its own failed before they used the sequence', async () => {
    const payer = await world.newPayer(100_000n)
    await world.carryOut(await world.pay(payer, { to: world.signer.address }))
    const all = await world.pay(payer, {
      coins: [{ denom: 'uatom', amount: '80000' }],
      to: world.signer.address,
    })
    const payment = await world.pay(payer, { sequence: 2n, mode: SignMode.SIGN_MODE_LEGACY_AMINO_JSON })
    await world.offer(all.tx.bytes)
    await world.offer(payment.tx.bytes)
    await world.mine()
    expect(await world.network.rpc.tx(payment.transaction.hash)).toMatchObject({ code: 5, isCharged: false })
    await world.fund(payer.address, 100_000n)
    const bytes = inOtherBytes(payment, { authInfo: withoutKey })
    await world.offer(bytes)
    await world.mine()
    expect(await world.paymentStatus(payment)).toEqual(await settledBy(hashOf(bytes)))
  })

  test('void once no block can include it any more, and not before', async () => {
    const timeoutHeight = (await world.height()) + 4n
    const payment = await world.pay(await world.newPayer(), { timeoutHeight })
    await world.mine(Number(timeoutHeight - 1n - (await world.height())))
    expect(await world.paymentStatus(payment)).toEqual(open)
    await world.mine()
    expect(await world.height()).toBe(timeoutHeight)
    expect(await world.paymentStatus(payment, world.connect({ confirmations: 2 }))).toEqual(open)
    expect(await world.paymentStatus(payment)).toEqual(void_('payment_expired'))
  })

  test('void if its timeout height passed in the mempool', async () => {
    const payer = await world.newPayer()
    const payment = await world.pay(payer, { timeoutHeight: await world.height() })
    await world.offer(payment.tx.bytes)
    await world.mine()
    expect(await world.network.rpc.tx(payment.transaction.hash)).toMatchObject({ code: 30, isCharged: false })
    expect(await world.paymentStatus(payment)).toEqual(void_('payment_expired'))
  })

  test('settled by the last block that can include it', async () => {
    const payer = await world.newPayer()
    const payment = await world.pay(payer, { timeoutHeight: (await world.height()) + 1n })
    await world.carryOut(payment)
    expect(await world.paymentStatus(payment)).toEqual(await settledBy(payment.transaction.hash))
  })
})

describe('the status of a mined payment, by what nodes return,', () => {
  let payment: PayerSigned
  let payer: TestWallet
  let seen: bigint

  beforeEach(async () => {
    payer = await world.newPayer()
    payment = await world.pay(payer)
    await world.carryOut(payment)
    seen = await world.height()
  })

  async function fateBy(lie: AlterReply, changes: Partial<CosmosNetwork> = {}) {
    const node = await startAlteringProxy(world.rpcUrl, lie)
    try {
      return await world.paymentStatus(payment, world.connect({ urls: [node.url], ...changes }), seen)
    } finally {
      await node.close()
    }
  }
  const notFound = { error: { code: -32603, message: 'Internal error', data: 'tx (AB) not found' } }
  const noTx: AlterReply = ({ method }, reply) => (method === 'tx' ? notFound : reply)
  const noSearch: AlterReply = ({ method }, reply) =>
    method === 'tx_search' ? { result: { txs: [], total_count: '0' } } : reply
  const nothing: AlterReply = (message, reply) => noTx(message, { id: 0, ...noSearch(message, reply) })
  const atHeight = (height: bigint, reply: { result?: unknown }) => {
    const result = structuredClone(reply.result) as { sync_info: { latest_block_height: string } }
    result.sync_info.latest_block_height = String(height)
    return { result }
  }

  test('is found by its hash and by its sequence if no node lags', async () => {
    const settled = await settledBy(payment.transaction.hash)
    expect(await fateBy((_, reply) => reply)).toEqual(settled)
    expect(await fateBy(noTx)).toEqual(settled)
    expect(await fateBy(noSearch)).toEqual(settled)
  })

  test('is not open if the node lacks the block', async () => {
    seen += 1n
    await expect(fateBy((_, reply) => reply)).rejects.toThrow(lags)
  })

  test('is not pending if the node that finds nothing lacks the block', () =>
    expect(
      fateBy((message, reply) =>
        message.method === 'status' ? atHeight(seen - 1n, reply) : nothing(message, reply),
      ),
    ).rejects.toThrow(lags))

  test('is pending, and later unavailable, but never void if no transaction is found for the sequence', async () => {
    expect(await fateBy(nothing)).toEqual(pending)
    await world.mine(19)
    expect(await fateBy(nothing)).toEqual(pending)
    await world.mine(1)
    await expect(fateBy(nothing)).rejects.toThrow(/finds the transaction with the sequence/)
    expect(await fateBy((_, reply) => reply)).toEqual(await settledBy(payment.transaction.hash))
  })

  test('is unavailable if the node returns another transaction for its sequence', async () => {
    const other = await world.pay(payer)
    await world.carryOut(other)
    const shown = await fetchTx(other.transaction.hash)
    const showOther: AlterReply = (message, reply) =>
      message.method === 'tx_search' ? { result: { txs: [shown], total_count: '1' } } : noTx(message, reply)
    await expect(fateBy(showOther)).rejects.toThrow('for a sequence that it does not use')
  })

  test('is unavailable if its transaction is in another block', async () => {
    const elsewhere: AlterReply = ({ method }, reply) => {
      if (method !== 'blockchain') return reply
      const result = structuredClone(reply.result) as { block_metas: { header: { height: string } }[] }
      for (const { header } of result.block_metas) header.height = '1'
      return { result }
    }
    await expect(fateBy(elsewhere)).rejects.toThrow(lags)
  })

  const fetchTx = (hash: string) => world.ask('tx', Buffer.from(hash, 'hex').toString('base64'), false)
})

describe('the transfer of a payment', () => {
  const find = (payment: PayerSigned, on = world.network, of = world.terms) =>
    findTransfer(on, payment, of, 0n)

  test('is found once mined, by its payer or in other bytes, confirmed or not, with the time of its block', async () => {
    const payment = await aminoPayment()
    expect(await find(payment)).toBeUndefined()
    const bytes = inOtherBytes(payment, { body: turnedRound })
    await world.offer(bytes)
    await world.mine()
    const height = await world.height()
    const block = await world.network.rpc.blockAt(height)
    const transfer = { hash: hashOf(bytes), blockNumber: height, time: block?.timestamp, place: '0' }
    expect(await find(payment)).toEqual(transfer)
    expect(await find(payment, world.connect({ confirmations: 4 }))).toEqual(transfer)
  })

  test('is none for other terms, for a signature of another, or if another transaction used the sequence', async () => {
    const payer = await world.newPayer()
    const payment = await world.pay(payer)
    const other = await world.pay(payer, { coins: [{ denom: 'uatom', amount: '1' }] })
    await world.carryOut(payment)
    expect(await find(payment, world.network, { ...world.terms, amount: 1n })).toBeUndefined()
    expect(await find(other, world.network, { ...world.terms, amount: 1n })).toBeUndefined()
    const signatures = [new Uint8Array(64).fill(1)]
    expect(await find({ ...payment, tx: { ...payment.tx, signatures } })).toBeUndefined()
    expect(await find(payment)).toBeDefined()
  })

  test('is not told by a node that has not indexed its block, and is none once each node had the time to', async () => {
    const payment = await world.pay(await world.newPayer())
    await world.carryOut(payment)
    const node = await startAlteringProxy(world.rpcUrl, ({ method }, reply) =>
      method === 'tx'
        ? {
            error: {
              code: -32603,
              message: 'Internal error',
              data: `tx (${payment.transaction.hash}) not found`,
            },
          }
        : method === 'tx_search'
          ? { result: { txs: [], total_count: '0' } }
          : reply,
    )
    const on = world.connect({ urls: [node.url] })
    await expect(find(payment, on)).rejects.toThrow(lags)
    await world.mine(21)
    expect(await find(payment, on)).toBeUndefined()
    await node.close()
  })
})
