import { SignMode } from 'cosmjs-types/cosmos/tx/signing/v1beta1/signing'
import { AuthInfo, TxBody, TxRaw } from 'cosmjs-types/cosmos/tx/v1beta1/tx'
import { type Lie, startLyingNode } from '../json-rpc/testing/node'
import { hashOf } from './answers'
import { inspect } from './inspection'
import type { CosmosNetwork } from './network'
import type { CosmosPayment } from './payment'
import { openOwnChain, type OwnChain } from './testing/chain'
import type { TestWallet } from './testing/transaction'

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

/** What the chain says where it was settled by the transaction with this hash. */
async function settledBy(hash: string) {
  const found = await world.network.rpc.tx(hash)
  return { status: 'settled', hash, blockNumber: found?.height }
}

const asItIs = (bytes: Uint8Array): Uint8Array => bytes

/** The same send in other bytes, which anybody can make of what was signed in amino JSON. */
function inOtherBytes(
  { tx }: CosmosPayment,
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

/** Memo before message, which ADR-027 forbids and amino JSON does not tell. */
function turnedRound(bytes: Uint8Array): Uint8Array {
  const { messages, memo } = TxBody.decode(bytes)
  const parts = [{ memo }, { messages }].map((part) => TxBody.encode(TxBody.fromPartial(part)).finish())
  return new Uint8Array(Buffer.concat(parts))
}

/** A payment in amino JSON of a payer whose key the chain knows. */
async function aminoPayment() {
  const payer = await world.newPayer()
  await world.carryOut(await world.pay(payer))
  return world.pay(payer, { mode: SignMode.SIGN_MODE_LEGACY_AMINO_JSON, memo: 'for a call' })
}

describe('the fate of a payment is', () => {
  test('open while its sequence is unused, also of an account that its chain has never heard of', async () => {
    const payer = await world.newPayer()
    const payment = await world.pay(payer)
    expect(await world.fate(payment)).toEqual(open)
    const stranger = await world.pay({ ...payer, address: world.terms.payTo })
    expect(await world.fate(stranger)).toEqual(open)
  })

  test('settled where it was mined, by its hash and the time of its block', async () => {
    const payment = await world.pay(await world.newPayer())
    await world.carryOut(payment)
    expect(await world.fate(payment)).toEqual(await settledBy(payment.transaction.hash))
  })

  test('settled where its payer sent it', async () => {
    const payment = await world.pay(await world.newPayer())
    await world.offer(payment.tx.bytes)
    expect(await world.fate(payment)).toEqual(open)
    await world.mine()
    expect(await world.fate(payment)).toEqual(await settledBy(payment.transaction.hash))
  })

  test('pending until it has the confirmations', async () => {
    const payment = await world.pay(await world.newPayer())
    await world.carryOut(payment)
    const patient = world.connect({ confirmations: 4 })
    expect(await world.fate(payment, patient)).toEqual(pending)
    await world.mine(3)
    expect(await world.fate(payment, patient)).toEqual(await settledBy(payment.transaction.hash))
  })

  test.each<[string, Parameters<typeof inOtherBytes>[1]]>([
    ['without the key, which the chain knows', { authInfo: withoutKey }],
    ['with its fields in another order', { body: turnedRound }],
  ])('settled where a stranger carried the same send %s', async (_, change) => {
    const payment = await aminoPayment()
    const bytes = inOtherBytes(payment, change)
    const hash = hashOf(bytes)
    expect(hash).not.toBe(payment.transaction.hash)
    await world.offer(bytes)
    await world.mine()
    expect(await world.fate(payment)).toEqual(await settledBy(hash))
    expect(await inspect(world.network, payment.transaction.hash)).toEqual({ status: 'unknown' })
    const theirs = await inspect(world.network, hash)
    expect(theirs.status === 'mined' && theirs.settles(payment, world.terms)).toBe(true)
  })

  test('void where another transaction of its payer took its sequence', async () => {
    const payer = await world.newPayer()
    const payment = await world.pay(payer)
    await world.carryOut(await world.pay(payer, { memo: 'for something else', to: world.signer.address }))
    expect(await world.fate(payment)).toEqual(
      void_('invalid_transaction_state', 'another transaction of the payer took the sequence'),
    )
  })

  test('settled by the same send under the same sequence, whatever its memo', async () => {
    const payer = await world.newPayer()
    const payment = await world.pay(payer)
    const again = await world.pay(payer, { memo: 'again' })
    await world.carryOut(again)
    expect(await world.fate(payment)).toEqual(await settledBy(again.transaction.hash))
  })

  test('void where the send failed in its block, though the node had taken it', async () => {
    const payer = await world.newPayer(100_000n)
    const all = await world.pay(payer, {
      coins: [{ denom: 'uatom', amount: '85000' }],
      to: world.signer.address,
    })
    const payment = await world.pay(payer, { sequence: 1n })
    await world.offer(all.tx.bytes)
    await world.offer(payment.tx.bytes)
    await world.mine()
    expect(await inspect(world.network, payment.transaction.hash)).toMatchObject({
      status: 'mined',
      succeeded: false,
    })
    const detail = expect.stringContaining('code 5 (sdk)') as string
    expect(await world.fate(payment)).toEqual(void_('invalid_transaction_state', detail))
    const patient = world.connect({ confirmations: 2 })
    expect(await world.fate(payment, patient)).toEqual(pending)
  })

  test('open where it failed in its block before it took its sequence, and settled where it is mined once more', async () => {
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
    expect(await inspect(world.network, payment.transaction.hash)).not.toMatchObject({ status: 'mined' })
    expect(await world.fate(payment)).toEqual(open)
    await world.fund(payer.address, 100_000n)
    await world.carryOut(payment)
    expect(await world.fate(payment)).toEqual(await settledBy(payment.transaction.hash))
  })

  test('settled by other bytes of it, where its own failed in a block before they took the sequence', async () => {
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
    expect(await world.fate(payment)).toEqual(await settledBy(hashOf(bytes)))
  })

  test('void once no block can hold it any more, and not before', async () => {
    const timeoutHeight = (await world.height()) + 4n
    const payment = await world.pay(await world.newPayer(), { timeoutHeight })
    await world.mine(Number(timeoutHeight - 1n - (await world.height())))
    expect(await world.fate(payment)).toEqual(open)
    await world.mine()
    expect(await world.height()).toBe(timeoutHeight)
    expect(await world.fate(payment, world.connect({ confirmations: 2 }))).toEqual(open)
    expect(await world.fate(payment)).toEqual(void_('payment_expired'))
  })

  test('void where its timeout height passed while it waited', async () => {
    const payer = await world.newPayer()
    const payment = await world.pay(payer, { timeoutHeight: await world.height() })
    await world.offer(payment.tx.bytes)
    await world.mine()
    expect(await world.network.rpc.tx(payment.transaction.hash)).toMatchObject({ code: 30, isCharged: false })
    expect(await world.fate(payment)).toEqual(void_('payment_expired'))
  })

  test('settled by the last block that could hold it', async () => {
    const payer = await world.newPayer()
    const payment = await world.pay(payer, { timeoutHeight: (await world.height()) + 1n })
    await world.carryOut(payment)
    expect(await world.fate(payment)).toEqual(await settledBy(payment.transaction.hash))
  })
})

describe('the fate of a payment that was mined, as nodes tell it', () => {
  let payment: CosmosPayment
  let payer: TestWallet
  let seen: bigint

  beforeEach(async () => {
    payer = await world.newPayer()
    payment = await world.pay(payer)
    await world.carryOut(payment)
    seen = await world.height()
  })

  async function fateBy(lie: Lie, changes: Partial<CosmosNetwork> = {}) {
    const node = await startLyingNode(world.rpcUrl, lie)
    try {
      return await world.fate(payment, world.connect({ urls: [node.url], ...changes }), seen)
    } finally {
      await node.close()
    }
  }
  const notFound = { error: { code: -32603, message: 'Internal error', data: 'tx (AB) not found' } }
  const noTx: Lie = ({ method }, reply) => (method === 'tx' ? notFound : reply)
  const noSearch: Lie = ({ method }, reply) =>
    method === 'tx_search' ? { result: { txs: [], total_count: '0' } } : reply
  const nothing: Lie = (message, reply) => noTx(message, { id: 0, ...noSearch(message, reply) })
  const atHeight = (height: bigint, reply: { result?: unknown }) => {
    const result = structuredClone(reply.result) as { sync_info: { latest_block_height: string } }
    result.sync_info.latest_block_height = String(height)
    return { result }
  }

  test('is found while nothing lags, by its hash as well as by its sequence', async () => {
    const settled = await settledBy(payment.transaction.hash)
    expect(await fateBy((_, reply) => reply)).toEqual(settled)
    expect(await fateBy(noTx)).toEqual(settled)
    expect(await fateBy(noSearch)).toEqual(settled)
  })

  test('is not open where the node that answers lacks the block', async () => {
    seen += 1n
    await expect(fateBy((_, reply) => reply)).rejects.toThrow(lags)
  })

  test('is not pending where the node that finds nothing lacks the block', () =>
    expect(
      fateBy((message, reply) =>
        message.method === 'status' ? atHeight(seen - 1n, reply) : nothing(message, reply),
      ),
    ).rejects.toThrow(lags))

  test('is pending where nothing is found of what took the sequence, and never void: no node tells once every one must know', async () => {
    expect(await fateBy(nothing)).toEqual(pending)
    await world.mine(19)
    expect(await fateBy(nothing)).toEqual(pending)
    await world.mine(1)
    await expect(fateBy(nothing)).rejects.toThrow(/shows what took the sequence/)
    expect(await fateBy((_, reply) => reply)).toEqual(await settledBy(payment.transaction.hash))
  })

  test('is not told where another transaction is shown for its sequence', async () => {
    const other = await world.pay(payer)
    await world.carryOut(other)
    const shown = await fetchTx(other.transaction.hash)
    const showOther: Lie = (message, reply) =>
      message.method === 'tx_search' ? { result: { txs: [shown], total_count: '1' } } : noTx(message, reply)
    await expect(fateBy(showOther)).rejects.toThrow('for a sequence that it does not have')
  })

  test('is not told where the block of its transaction is another', async () => {
    const elsewhere: Lie = ({ method }, reply) => {
      if (method !== 'blockchain') return reply
      const result = structuredClone(reply.result) as { block_metas: { header: { height: string } }[] }
      for (const { header } of result.block_metas) header.height = '1'
      return { result }
    }
    await expect(fateBy(elsewhere)).rejects.toThrow(lags)
  })

  const fetchTx = (hash: string) => world.ask('tx', Buffer.from(hash, 'hex').toString('base64'), false)
})
