import { randomBytes } from 'node:crypto'
import { serializeSignDoc } from '@cosmjs/amino'
import { toBech32 } from '@cosmjs/encoding'
import { BaseAccount } from 'cosmjs-types/cosmos/auth/v1beta1/auth'
import { QueryAccountResponse } from 'cosmjs-types/cosmos/auth/v1beta1/query'
import { SignMode } from 'cosmjs-types/cosmos/tx/signing/v1beta1/signing'
import { TxRaw } from 'cosmjs-types/cosmos/tx/v1beta1/tx'
import { Any } from 'cosmjs-types/google/protobuf/any'
import { ChainUnavailable } from '../errors'
import { startAlteringProxy } from '../json-rpc/testing/node'
import {
  type Draft,
  encodeDraft,
  field,
  joined,
  signBytesFor,
  type TestWallet,
  walletOf,
} from './testing/transaction'
import {
  amino,
  changed,
  type Circumstances,
  coin,
  direct,
  feeOf,
  highTwin,
  messages,
  openVerifying,
  other,
  packed,
  type Verifying,
} from './testing/verifying'

let world: Verifying['world']
let payer: TestWallet
let refusal: Verifying['refusal']
let gasless: Verifying['gasless']
let inBlocks: Verifying['inBlocks']
let close: Verifying['close']
beforeAll(async () => {
  ;({ world, payer, refusal, gasless, inBlocks, close } = await openVerifying())
})
afterAll(() => close())

describe('verify refuses, by what the chain says, a payment', () => {
  test('of an unknown account', async () => {
    expect(await refusal({}, { by: walletOf(randomBytes(32)) })).toMatchObject({
      reason: 'insufficient_funds',
    })
  })

  describe.each([
    ['DIRECT', direct],
    ['LEGACY_AMINO_JSON', amino],
  ])('in %s', (_, mode) => {
    const signedFor = (changes: Partial<Draft>) => (wallet: TestWallet, draft: Draft) => {
      const parts = encodeDraft(wallet, draft)
      const signature = wallet.sign(signBytesFor({ ...draft, ...changes }, parts))
      return TxRaw.encode({ ...parts, signatures: [signature] }).finish()
    }
    const forged: [string, Circumstances['signed']][] = [
      ['for another chain', signedFor({ chainId: 'cosmoshub-4' })],
      ['for another account', signedFor({ accountNumber: 4711n })],
      ['by another key', (_wallet, draft) => signedBy(other, draft)],
      [
        'as the high-s twin of its signature',
        changed(({ signatures: [one] }) => ({ signatures: [highTwin(one!)] })),
      ],
      [
        'with a bit of it flipped',
        changed(({ signatures: [one] }) => ({
          signatures: [Uint8Array.from(one!, (byte, i) => (i ? byte : byte ^ 1))],
        })),
      ],
      ['in the other mode', (wallet, draft) => signedIn(wallet, draft)],
    ]
    const signedBy = (wallet: TestWallet, draft: Draft) => {
      const parts = encodeDraft(payer, draft)
      return TxRaw.encode({ ...parts, signatures: [wallet.sign(signBytesFor(draft, parts))] }).finish()
    }
    const signedIn = (wallet: TestWallet, draft: Draft) => {
      const parts = encodeDraft(wallet, draft)
      const signature = wallet.sign(signBytesFor({ ...draft, mode: mode === direct ? amino : direct }, parts))
      return TxRaw.encode({ ...parts, signatures: [signature] }).finish()
    }
    test.each(forged)('signed %s', async (_, signed) => {
      expect(await refusal({ mode }, { signed: signed! })).toMatchObject({
        reason: 'invalid_payload',
        detail: expect.stringMatching(
          `^not signed by ${payer.address} with chain_id ${world.network.chainId}, account_number [0-9]+, sequence [0-9]+$`,
        ) as string,
      })
    })
    const spent: [string, (sequence: bigint) => bigint][] = [
      ['that is used', (sequence) => sequence - 1n],
      ['past the next one', (sequence) => sequence + 1n],
    ]
    test.each(spent)('of a sequence %s', async (_, change) => {
      const by = await world.newPayer()
      await world.carryOut(await world.pay(by))
      const { sequence } = await world.draft(by)
      expect(await refusal({ mode, sequence: change(sequence) }, { by })).toMatchObject({
        reason: 'invalid_transaction_state',
      })
    })
    test('signed for another sequence than it names', async () => {
      const signed = signedFor({ sequence: 17n })
      // The sequence that DIRECT signs stands in what is signed.
      const other = (wallet: TestWallet, draft: Draft) => {
        const { authInfoBytes } = encodeDraft(wallet, { ...draft, sequence: 17n })
        const parts = { ...encodeDraft(wallet, draft) }
        const signature = wallet.sign(signBytesFor(draft, { ...parts, authInfoBytes }))
        return TxRaw.encode({ ...parts, signatures: [signature] }).finish()
      }
      expect(await refusal({ mode }, { signed: mode === amino ? signed : other })).toMatchObject({
        reason: 'invalid_payload',
      })
    })
  })

  describe('whose signature is one of ADR-036', () => {
    const offChain = (data: Uint8Array) =>
      serializeSignDoc({
        chain_id: '',
        account_number: '0',
        sequence: '0',
        fee: { gas: '0', amount: [] },
        msgs: [
          {
            type: 'sign/MsgSignData',
            value: { signer: payer.address, data: Buffer.from(data).toString('base64') },
          },
        ],
        memo: '',
      })
    const texts: [string, (draft: Draft) => Uint8Array][] = [
      ['over a text', () => Buffer.from('Tollgate wants you to sign in.')],
      ['over the very sign bytes', (draft) => signBytesFor(draft, encodeDraft(payer, draft))],
    ]
    for (const mode of [direct, amino])
      test.each(texts)(`%s, in ${SignMode[mode]}`, async (_, textOf) => {
        const signed = (wallet: TestWallet, draft: Draft) =>
          TxRaw.encode({
            ...encodeDraft(wallet, draft),
            signatures: [wallet.sign(offChain(textOf(draft)))],
          }).finish()
        expect(await refusal({ mode }, { signed })).toMatchObject({ reason: 'invalid_payload' })
      })

    test('and whose message is what was signed', async () => {
      const message = Any.fromPartial({
        typeUrl: '/cosmos.msgsign.v1.MsgSignData',
        value: joined(field(1, Buffer.from(payer.address)), field(2, Buffer.from('hello'))),
      })
      const fee = feeOf({ amount: [], gas: 0n })
      const signed = (wallet: TestWallet, draft: Draft) =>
        TxRaw.encode({
          ...encodeDraft(wallet, { ...draft, ...messages(message), fee }),
          signatures: [wallet.sign(offChain(Buffer.from('hello')))],
        }).finish()
      expect(await refusal({ mode: amino }, { signed })).toMatchObject({ reason: 'invalid_payload' })
    })
  })

  test('that times out within four blocks, or has', async () => {
    for (const blocks of [4n, 1n, 0n])
      expect(await refusal(await inBlocks(blocks))).toMatchObject({ reason: 'payment_expired' })
    expect(await refusal({ timeoutHeight: 1n, mode: amino })).toMatchObject({ reason: 'payment_expired' })
  })

  test('with a memo longer than the chain allows', async () => {
    expect(await refusal({ memo: `${'é'.repeat(128)}x` })).toMatchObject({ reason: 'invalid_payment' })
  })

  test('of more than the payer has beside its fee and what is spoken for', async () => {
    const by = await world.newPayer(15_000n)
    expect(await refusal({}, { by })).toBeUndefined()
    expect(await refusal({}, { by, reserved: 1n })).toEqual({
      reason: 'insufficient_funds',
      detail: 'the payer has 0.015 ATOM, and needs 0.015001 ATOM',
    })
    expect(await refusal({ fee: feeOf({ amount: [coin('5001')] }) }, { by })).toMatchObject({
      reason: 'insufficient_funds',
    })
    const poor = await world.newPayer(9_999n)
    expect(await refusal(gasless(), { by: poor })).toMatchObject({ reason: 'insufficient_funds' })
  })

  test('whose fee is in a coin that the payer lacks', async () => {
    const fee = feeOf({ amount: [coin('5000', 'stake'), coin('5000')] })
    expect(await refusal({ fee })).toMatchObject({
      reason: 'invalid_transaction_state',
    })
  })

  test('that needs more gas than it may use', async () => {
    const fee = feeOf({ gas: 10_000n })
    expect(await refusal({ fee })).toMatchObject({ reason: 'invalid_payment' })
    expect(await refusal(gasless({ gas: 10_000n }))).toMatchObject({ reason: 'invalid_payment' })
  })

  test('that would fail', async () => {
    const blocked = toBech32('cosmos', Buffer.from('f1829676db577682e944fc3493d451b67ff3e29f', 'hex'), 90)
    expect(await refusal({ to: blocked }, { terms: { payTo: blocked } })).toMatchObject({
      reason: 'invalid_transaction_state',
    })
  })

  test.each([
    ['account sequence mismatch, expected 1, got 0: incorrect account sequence', undefined],
    ['fee-grant not found: not found', undefined],
    ['fee allowance not found: unauthorized', undefined],
    ['5000uatom: fee limit exceeded', undefined],
    ['spendable balance is smaller', 'invalid_transaction_state'],
  ])('that fails where it is simulated, unless it may wait there itself: %s', async (log, reason) => {
    const node = await startAlteringProxy(world.rpcUrl, ({ method, params }, reply) =>
      method === 'abci_query' && JSON.stringify(params).includes('Service/Simulate')
        ? { result: { response: { code: 4, codespace: 'sdk', log, height: '1', value: null } } }
        : reply,
    )
    const settings = { rpcUrls: [node.url] }
    expect((await refusal({}, { settings }))?.reason).toBe(reason)
    // Nothing of it can wait before its fee is granted.
    expect(await refusal(gasless(), { settings })).toMatchObject({ reason: 'invalid_transaction_state' })
    await node.close()
  })

  test('whose payer the chain knows by another key', async () => {
    const account = BaseAccount.fromPartial({ address: payer.address, accountNumber: 0n })
    const answer = (pubKey: Any) =>
      QueryAccountResponse.encode({
        account: packed('/cosmos.auth.v1beta1.BaseAccount', BaseAccount, { ...account, pubKey }),
      }).finish()
    let known = payer.publicKeyAny
    const node = await startAlteringProxy(world.rpcUrl, ({ method, params }, reply) => {
      if (method !== 'abci_query' || !JSON.stringify(params).includes('Query/Account')) return reply
      const { response } = reply.result as { response: object }
      return { result: { response: { ...response, value: Buffer.from(answer(known)).toString('base64') } } }
    })
    const ask = () => refusal({ accountNumber: 0n }, { settings: { rpcUrls: [node.url] } })
    expect(await ask()).toBeUndefined()
    known = other.publicKeyAny
    expect(await ask()).toMatchObject({ reason: 'invalid_payload' })
    await node.close()
  })

  test('not at all, where no node answers', async () => {
    await expect(refusal({}, { settings: { rpcUrls: ['http://127.0.0.1:1'] } })).rejects.toThrow(
      ChainUnavailable,
    )
  })
})
