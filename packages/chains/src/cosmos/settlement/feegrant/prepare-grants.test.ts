import { setTimeout as delay } from 'node:timers/promises'
import { MsgMultiSend } from 'cosmjs-types/cosmos/bank/v1beta1/tx'
import { BasicAllowance } from 'cosmjs-types/cosmos/feegrant/v1beta1/feegrant'
import { MsgGrantAllowance } from 'cosmjs-types/cosmos/feegrant/v1beta1/tx'
import { Any } from 'cosmjs-types/google/protobuf/any'
import { ChainUnavailable, TransactionRejected } from '../../../errors'
import { withGasMargin } from '../fees'
import { broadcast } from '../broadcast'
import type { CosmosPayment } from '../../transfer-methods/bank-send/payment'
import { verify } from '../../transfer-methods/bank-send/verify'
import { transactionStatus } from '../../observation/transaction-status'
import { openGaslessWorld, FEE, PRICE } from '../../testing/gasless'
import { CHAIN_ID, walletOf } from '../../testing/transaction'
import { decodeTx } from '../../signing/tx'
import type { Allowance } from './allowance'
import { grantMessage, revokeMessage } from './grant'
import { keySigner } from '../../signing/key-signer'
import { encodeUnsigned } from './grant-transaction'
import { replaceGrants } from './prepare-grants'
import { sponsorship } from './sponsorship'

type World = Awaited<ReturnType<typeof openGaslessWorld>>
let world: World
beforeAll(async () => {
  world = await openGaslessWorld()
})
afterAll(() => world.close())

const now = () => BigInt(Math.floor(Date.now() / 1_000))
const uatom = (amount: bigint) => ({ denom: 'uatom', amount })
const granted = (fee: { coins: { denom: string; amount: string }[]; gas?: bigint }) => ({
  fee: { amount: fee.coins, gas: fee.gas ?? 200_000n, payer: '', granter: world.granter.address },
})
const messagesOf = (raw: string) =>
  decodeTx(Buffer.from(raw, 'base64'))!.messages.map(({ typeUrl }) => typeUrl.split('.').at(-1))

describe('a grant', () => {
  test('lets a payer that holds the price and nothing else pay, and is used up by that', async () => {
    const payer = await world.newPayer(PRICE)
    const payment = await world.pay(payer)
    const [ours, theirs] = await Promise.all([
      world.balance(world.granter.address),
      world.balance(world.terms.payTo),
    ])
    await expect(broadcast(world.network, payment.transaction)).rejects.toThrow(TransactionRejected)

    const grant = await world.signed([payment])
    expect(await world.send(grant)).toMatchObject({ code: 0 })
    expect(await world.allowance(payer)).toMatchObject({
      limits: [new Map([['uatom', FEE]])],
      messages: ['/cosmos.bank.v1beta1.MsgSend'],
    })
    expect(await world.send(payment.transaction)).toMatchObject({ code: 0 })
    expect(await world.allowance(payer)).toBeUndefined()

    expect(await world.balance(payer.address)).toBe(0n)
    expect(await world.balance(world.terms.payTo)).toBe(theirs + PRICE)
    const fees = ours - (await world.balance(world.granter.address))
    expect(grant.cost).toBe(fees)
  })

  test('costs what it states, as does the payment', async () => {
    const payment = await world.pay(await world.newPayer())
    const grant = await world.signed([payment])
    const before = await world.balance(world.granter.address)
    await world.send(grant)
    const between = await world.balance(world.granter.address)
    expect(await transactionStatus(world.network, grant.hash)).toMatchObject({
      status: 'mined',
      isConfirmed: true,
      succeeded: true,
      fee: before - between,
    })
    expect(grant.cost).toBe(before - between + FEE)
    await world.send(payment.transaction)
    expect(await transactionStatus(world.network, payment.transaction.hash)).toMatchObject({ fee: FEE })
  })

  test('settles nothing itself', async () => {
    const payment = await world.pay(await world.newPayer())
    const grant = await world.signed([payment])
    await world.send(grant)
    const mined = await transactionStatus(world.network, grant.hash)
    if (mined.status !== 'mined') throw new Error('The grant was not mined')
    expect(mined.settles(payment, world.terms)).toBe(false)
  })

  test('pays for no other message, for no higher fee, and not for a second transaction', async () => {
    const payer = await world.newPayer(3n * PRICE)
    const payment = await world.pay(payer)
    await world.send(await world.signed([payment]))

    const multi = {
      inputs: [{ address: payer.address, coins: [{ denom: 'uatom', amount: '1' }] }],
      outputs: [{ address: world.terms.payTo, coins: [{ denom: 'uatom', amount: '1' }] }],
    }
    const message = Any.fromPartial({
      typeUrl: MsgMultiSend.typeUrl,
      value: MsgMultiSend.encode(MsgMultiSend.fromPartial(multi)).finish(),
    })
    const other = await world.pay(payer, { body: { messages: [message] } })
    // x/feegrant: 7 of a message that is not allowed, 2 of a limit.
    expect(await world.refusal(other.tx.bytes)).toEqual({ codespace: 'feegrant', code: 7 })
    const dearer = await world.pay(payer, granted({ coins: [{ denom: 'uatom', amount: '5001' }] }))
    expect(await world.refusal(dearer.tx.bytes)).toEqual({ codespace: 'feegrant', code: 2 })

    await world.send(payment.transaction)
    const second = await world.pay(payer)
    await expect(broadcast(world.network, second.transaction)).rejects.toThrow(TransactionRejected)
  })

  test('ends some ten minutes after the block before it', async () => {
    const payer = await world.newPayer()
    await world.send(await world.signed([await world.pay(payer)]))
    const { expiresAt = 0n } = (await world.allowance(payer))!
    expect(expiresAt - now()).toBeGreaterThan(500n)
    expect(expiresAt - now()).toBeLessThanOrEqual(600n)
  })

  test('takes the place of one that does not suffice', async () => {
    const payer = await world.newPayer()
    const parties = { granter: world.granter.address, grantee: payer.address }
    for (const amount of [FEE - 1n, 1n]) {
      const leftover = grantMessage({ ...parties, coin: uatom(amount), expiresAt: now() + 300n })
      expect(await world.sendOwn([leftover])).toMatchObject({ code: 0 })
      const grant = await world.signed([await world.pay(payer)])
      expect(messagesOf(grant.raw)).toEqual(['MsgRevokeAllowance', 'MsgGrantAllowance'])
      expect(await world.send(grant)).toMatchObject({ code: 0 })
      expect((await world.allowance(payer))?.limits).toEqual([new Map([['uatom', FEE]])])
      expect(await world.sendOwn([revokeMessage(parties)])).toMatchObject({ code: 0 })
    }
  })

  test('is one transaction for twenty payers, of whom each can pay then', async () => {
    const payments = await Promise.all(
      Array.from({ length: 20 }, async () => world.pay(await world.newPayer())),
    )
    const before = await world.balance(world.granter.address)
    const alone = await world.signed(payments.slice(0, 1))
    const grant = await world.signed(payments)
    expect(messagesOf(grant.raw)).toEqual(Array<string>(20).fill('MsgGrantAllowance'))
    expect(await world.send(grant)).toMatchObject({ code: 0 })
    for (const { transaction } of payments) expect(await world.send(transaction)).toMatchObject({ code: 0 })
    const cost = before - (await world.balance(world.granter.address))
    expect(cost).toBe(grant.cost)
    expect(grant.cost - 20n * FEE).toBeLessThan((20n * (alone.cost - FEE) * 3n) / 4n)
  })
})

describe('a payment whose fee we bear', () => {
  const judged = (payment: CosmosPayment) =>
    verify({ network: world.network, payment, terms: world.terms, reserved: 0n, minBlock: 0n })

  test('is refused where its gas covers the send and not what it takes to charge its fee', async () => {
    const payer = await world.newPayer()
    const payWith = (gas: bigint) =>
      world.pay(payer, granted({ coins: [{ denom: 'uatom', amount: '5000' }], gas }))
    const simulated = await world.network.rpc.simulate(
      (await world.pay(payer, { fee: { amount: [], gas: 200_000n, payer: '', granter: '' } })).tx.bytes,
    )
    if (!('gasUsed' in simulated)) throw new Error(simulated.failure)
    const scant = await payWith(simulated.gasUsed + 5_000n)
    expect(await judged(scant)).toMatchObject({ reason: 'invalid_payment' })
    const ample = await payWith(withGasMargin(simulated.gasUsed + 35_000n))
    expect(await judged(ample)).toBeUndefined()

    // Once it is granted nothing has to be estimated.
    await world.send(await world.signed([ample]))
    expect(await judged(scant)).toMatchObject({ reason: 'invalid_payment' })
    const exact = await world.network.rpc.simulate(ample.tx.bytes)
    if (!('gasUsed' in exact)) throw new Error(exact.failure)
    const enough = await payWith(withGasMargin(exact.gasUsed + 500n))
    expect(await judged(enough)).toBeUndefined()
    expect(await world.send(enough.transaction)).toMatchObject({ code: 0 })
  })
})

describe('no grant is prepared', () => {
  test('for a fee that is not sponsored: of zero, past the cap, in other coins, or by another granter', async () => {
    const payer = await world.newPayer()
    const fees = [
      [],
      [{ denom: 'uatom', amount: '0' }],
      [{ denom: 'uatom', amount: '10001' }],
      [{ denom: 'stake', amount: '5000' }],
      [
        { denom: 'stake', amount: '1' },
        { denom: 'uatom', amount: '5000' },
      ],
      [
        { denom: 'uatom', amount: '5000' },
        { denom: 'wei', amount: '1' },
      ],
    ]
    const payments = await Promise.all([
      ...fees.map((coins) => world.pay(payer, granted({ coins }))),
      world.pay(payer, { fee: { ...granted({ coins: [] }).fee, granter: payer.address } }),
      world.pay(payer, {
        fee: { ...granted({ coins: [{ denom: 'uatom', amount: '5000' }] }).fee, granter: '' },
      }),
    ])
    const sound = await world.pay(await world.newPayer())
    for (const payment of payments) {
      expect(await world.prepare([payment])).toMatchObject({ reason: 'invalid_payment' })
      expect(await world.prepare([sound, payment])).toMatchObject({ reason: 'invalid_payment' })
    }
  })

  test('where fees are not sponsored at all', async () => {
    const on = { ...world.network }
    delete on.gaslessMaxFee
    const payment = await world.pay(await world.newPayer())
    expect(await world.prepare([payment], { on })).toMatchObject({ reason: 'invalid_payment' })
  })

  test('that would fail, or that needs more gas than it may have', async () => {
    const payment = await world.pay(await world.newPayer())
    const toItself = await world.pay(world.granter)
    expect(await world.prepare([payment, toItself])).toMatchObject({ reason: 'invalid_transaction_state' })
    expect(await world.prepare([payment], { on: { ...world.network, maxGas: 20_000n } })).toMatchObject({
      reason: 'invalid_transaction_state',
      detail: expect.stringContaining('of 20000') as string,
    })
  })

  test('while of two nodes behind one URL one has an allowance and the other has none: the payment waits', async () => {
    const payer = await world.newPayer()
    const payment = await world.pay(payer)
    const sound = await world.pay(await world.newPayer())
    const whereTold = (allowance: Allowance | undefined) => ({
      ...world.network,
      rpc: { ...world.network.rpc, allowance: () => Promise.resolve(allowance) },
    })
    await expect(world.prepare([payment], { on: whereTold({ limits: [] }) })).rejects.toThrow(
      ChainUnavailable,
    )
    await world.send(await world.signed([payment]))
    const none = whereTold(undefined)
    await expect(world.prepare([payment], { on: none })).rejects.toThrow(ChainUnavailable)
    // Of several together the owner is unknown: those go alone.
    expect(await world.prepare([sound, payment], { on: none })).toMatchObject({
      reason: 'invalid_transaction_state',
    })
  })

  test('by an account that holds nothing: its payments wait', async () => {
    const { address: signer } = walletOf(new Uint8Array(32).fill(9))
    const on = { ...world.network, signer }
    const payment = await world.pay(await world.newPayer(), {
      fee: { ...granted({ coins: [{ denom: 'uatom', amount: '5000' }] }).fee, granter: signer },
    })
    await expect(world.prepare([payment], { on })).rejects.toThrow('fund it')
  })

  test('for an empty batch', async () => expect(world.prepare([])).rejects.toThrow('at least one payment'))
})

describe('what a node is asked to simulate', () => {
  test('is worth nothing to it', async () => {
    const payment = await world.pay(await world.newPayer())
    const { accountNumber, sequence } = (await world.network.rpc.account(world.granter.address))!
    const own = {
      messages: [
        grantMessage({
          granter: world.granter.address,
          grantee: payment.payer,
          coin: uatom(FEE),
          expiresAt: now() + 600n,
        }),
      ],
      gas: 200_000n,
      fee: uatom(5_000n),
      chainId: CHAIN_ID,
      accountNumber,
      sequence,
    }
    expect(await world.refusal(encodeUnsigned(world.signer, own))).toEqual({
      codespace: 'sdk',
      code: 4,
    })
    expect(await world.send(await world.signOwn(own))).toMatchObject({ code: 0 })
  })

  test('names the sequence that the node wants, behind others of ours that wait and before them', async () => {
    await world.node.setPace('stopped')
    const payments = await Promise.all(
      Array.from({ length: 3 }, async () => world.pay(await world.newPayer())),
    )
    const nonce = await world.nextNonce()
    const later = await world.signed(payments.slice(2), { nonce: nonce + 2n })
    const first = await world.signed(payments.slice(0, 1), { nonce })
    await broadcast(world.network, first)
    const second = await world.signed(payments.slice(1, 2), { nonce: nonce + 1n })
    await broadcast(world.network, second)
    await broadcast(world.network, later)
    await world.node.setPace('at-once')
    await world.mine()
    for (const { hash } of [first, second, later])
      expect(await world.network.rpc.tx(hash)).toMatchObject({ code: 0 })
  })
})

describe('a grant that waits', () => {
  test('offers more under its sequence once the configured price is higher than what it offers', async () => {
    const payment = await world.pay(await world.newPayer())
    const grant = await world.signed([payment])
    await world.setMinimumGasPrice('0.05uatom')
    try {
      await expect(broadcast(world.network, grant)).rejects.toThrow(TransactionRejected)
      expect(await replaceGrants(world.network, world.signer, grant)).toBeUndefined()
      const dearer = { ...world.network, gasPrice: 5n * 10n ** 16n }
      const replaced = (await replaceGrants(dearer, world.signer, grant))!
      const [old, fresh] = [grant, replaced].map(({ raw }) => decodeTx(Buffer.from(raw, 'base64'))!)
      expect(fresh!.signers[0]!.sequence).toBe(old!.signers[0]!.sequence)
      expect(Buffer.from(fresh!.bodyBytes)).toEqual(Buffer.from(old!.bodyBytes))
      expect(fresh!.fee.gas).toBe(old!.fee.gas)
      expect(fresh!.fee.coins[0]!.amount).toBe((old!.fee.gas + 19n) / 20n)
      expect(replaced.cost).toBe(fresh!.fee.coins[0]!.amount + FEE)
      expect(await replaceGrants(dearer, world.signer, replaced)).toBeUndefined()
      expect(await world.send(replaced)).toMatchObject({ code: 0 })
    } finally {
      await world.setMinimumGasPrice('0.025uatom')
    }
  })

  test('is signed again with a later end before what it allows would lapse', async () => {
    const { address: grantee } = await world.newPayer()
    const { accountNumber, sequence } = (await world.network.rpc.account(world.granter.address))!
    const parties = { granter: world.granter.address, grantee }
    const coin = uatom(FEE)
    const own = (expiresAt: bigint) =>
      world.signOwn({
        messages: [grantMessage({ ...parties, coin, expiresAt })],
        gas: 200_000n,
        fee: uatom(5_000n),
        chainId: CHAIN_ID,
        accountNumber,
        sequence,
      })
    const replaced = async (one: ReturnType<typeof own>) =>
      replaceGrants(world.network, world.signer, await one)
    expect(await replaced(own(now() + 60n))).toBeUndefined()
    for (const late of [own(now() - 60n), own(now() + 5n)]) {
      const { raw } = (await replaced(late))!
      const fresh = decodeTx(Buffer.from(raw, 'base64'))!
      expect(fresh.fee).toMatchObject({ gas: 200_000n, coins: [uatom(5_000n)] })
      expect(fresh.signers[0]!.sequence).toBe(sequence)
    }
    expect(await world.send((await replaced(own(now() - 60n)))!)).toMatchObject({ code: 0 })
    const allowance = await world.network.rpc.allowance(parties.granter, grantee)
    expect(allowance).toMatchObject({ limits: [new Map([['uatom', FEE]])] })
    expect(allowance!.expiresAt! - now()).toBeGreaterThan(500n)
  })

  test('is replaced only by its signer', async () => {
    const payment = await world.pay(await world.newPayer())
    const grant = await world.signed([payment])
    const other = keySigner('05'.repeat(32), 'cosmos')
    await expect(replaceGrants(world.network, other, grant)).rejects.toThrow('was not signed by')
    for (const raw of [payment.transaction.raw, '', 'AAAA'])
      await expect(replaceGrants(world.network, world.signer, { raw, hash: '' })).rejects.toThrow(
        'was not signed by',
      )
  })
})

describe('what a payment asks of us', () => {
  const asked = async (payment: Parameters<typeof sponsorship>[1]) => sponsorship(world.network, payment)
  const allow = async (grantee: string, value: Partial<BasicAllowance>) => {
    const allowance = Any.fromPartial({
      typeUrl: BasicAllowance.typeUrl,
      value: BasicAllowance.encode(BasicAllowance.fromPartial(value)).finish(),
    })
    const grant = MsgGrantAllowance.encode({ granter: world.granter.address, grantee, allowance }).finish()
    await world.sendOwn([Any.fromPartial({ typeUrl: MsgGrantAllowance.typeUrl, value: grant })])
  }

  test('is nothing where its payer bears the fee', async () => {
    const payer = await world.newPayer(2n * PRICE)
    const payment = await world.pay(payer, {
      fee: { ...granted({ coins: [{ denom: 'uatom', amount: '5000' }] }).fee, granter: '' },
    })
    expect(await asked(payment)).toEqual({ fee: 0n, isReady: true })
  })

  test('is its fee, and an allowance before it can be sent, unless one on the chain covers it', async () => {
    const payer = await world.newPayer()
    const payment = await world.pay(payer)
    expect(await asked(payment)).toEqual({ fee: FEE, isReady: false })
    await allow(payer.address, { spendLimit: [{ denom: 'uatom', amount: `${FEE}` }] })
    expect(await asked(payment)).toEqual({ fee: FEE, isReady: true })
    const dearer = await world.pay(payer, granted({ coins: [{ denom: 'uatom', amount: `${FEE + 1n}` }] }))
    expect(await asked(dearer)).toEqual({ fee: FEE + 1n, isReady: false })
    await world.send(payment.transaction)
    expect(await asked(await world.pay(payer))).toEqual({ fee: FEE, isReady: false })
  })

  test('is broadcast only after an allowance that does not cover it has lapsed, where it is about to', async () => {
    const payer = await world.newPayer()
    const payment = await world.pay(payer)
    await allow(payer.address, { expiration: { seconds: now() + 3n, nanos: 0 } })
    await expect(asked(payment)).rejects.toThrow('about to expire')
    const deadline = performance.now() + 20_000
    while ((await world.allowance(payer)) !== undefined && performance.now() < deadline) await delay(50)
    expect(await asked(payment)).toEqual({ fee: FEE, isReady: false })
  })
})
