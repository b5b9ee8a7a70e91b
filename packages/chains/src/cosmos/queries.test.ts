import { BaseAccount, ModuleAccount } from 'cosmjs-types/cosmos/auth/v1beta1/auth'
import {
  QueryAccountRequest,
  QueryAccountResponse,
  QueryParamsResponse as AuthParamsResponse,
} from 'cosmjs-types/cosmos/auth/v1beta1/query'
import { Metadata } from 'cosmjs-types/cosmos/bank/v1beta1/bank'
import {
  QueryBalanceResponse,
  QueryDenomMetadataResponse,
  QueryParamsResponse,
  QuerySendEnabledResponse,
  QuerySupplyOfResponse,
} from 'cosmjs-types/cosmos/bank/v1beta1/query'
import { BasicAllowance } from 'cosmjs-types/cosmos/feegrant/v1beta1/feegrant'
import { QueryAllowanceResponse } from 'cosmjs-types/cosmos/feegrant/v1beta1/query'
import { SimulateResponse } from 'cosmjs-types/cosmos/tx/v1beta1/service'
import {
  BaseVestingAccount,
  ContinuousVestingAccount,
  DelayedVestingAccount,
  PeriodicVestingAccount,
  PermanentLockedAccount,
} from 'cosmjs-types/cosmos/vesting/v1beta1/vesting'
import { ChainUnavailable } from '../errors'
import { type AbciResponse, rpcTo, startComet } from './testing/comet'

const ACCOUNT = '/cosmos.auth.v1beta1.Query/Account'
const BALANCE = '/cosmos.bank.v1beta1.Query/Balance'
const SUPPLY = '/cosmos.bank.v1beta1.Query/SupplyOf'
const SEND_ENABLED = '/cosmos.bank.v1beta1.Query/SendEnabled'
const BANK_PARAMS = '/cosmos.bank.v1beta1.Query/Params'
const AUTH_PARAMS = '/cosmos.auth.v1beta1.Query/Params'
const METADATA = '/cosmos.bank.v1beta1.Query/DenomMetadata'
const ALLOWANCE = '/cosmos.feegrant.v1beta1.Query/Allowance'
const SIMULATE = '/cosmos.tx.v1beta1.Service/Simulate'

const payer = 'cosmos1pkptre7fdkl6gfrzlesjjvhxhlc3r4gmmk8rs6'
const other = 'cosmos1qypqxpq9qcrsszgszyfpx9q4zct3sxfqh5g2ae'
const notFound = {
  code: 22,
  codespace: 'sdk',
  log: 'rpc error: code = NotFound desc = x not found: key not found',
}

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

async function node(queries: Record<string, AbciResponse>) {
  const started = await startComet({}, queries)
  closing.push(() => started.close())
  return started
}
function rpc(...nodes: { url: string }[]) {
  const own = rpcTo(nodes.map(({ url }) => url))
  closing.push(() => own.close())
  return own
}
const answering = async (queries: Record<string, AbciResponse>) => rpc(await node(queries))

const base = BaseAccount.fromPartial({ address: payer, accountNumber: 7n, sequence: 3n })
const packed =
  (typeUrl: string, value: Uint8Array): AbciResponse =>
  () => ({
    value: QueryAccountResponse.encode({ account: { typeUrl, value } }).finish(),
  })
const baseAccount = packed(BaseAccount.typeUrl, BaseAccount.encode(base).finish())
const vested = { baseVestingAccount: BaseVestingAccount.fromPartial({ baseAccount: base }) }

describe('an account', () => {
  test.each<[string, Uint8Array]>([
    [BaseAccount.typeUrl, BaseAccount.encode(base).finish()],
    [ModuleAccount.typeUrl, ModuleAccount.encode(ModuleAccount.fromPartial({ baseAccount: base })).finish()],
    ['/ethermint.types.v1.EthAccount', Buffer.from(`0a${lengthOf(base)}${hexOf(base)}120430786162`, 'hex')],
    ['/injective.types.v1beta1.EthAccount', Buffer.from(`0a${lengthOf(base)}${hexOf(base)}1202c5d2`, 'hex')],
    [BaseVestingAccount.typeUrl, BaseVestingAccount.encode(vested.baseVestingAccount).finish()],
    [
      ContinuousVestingAccount.typeUrl,
      ContinuousVestingAccount.encode(ContinuousVestingAccount.fromPartial(vested)).finish(),
    ],
    [DelayedVestingAccount.typeUrl, DelayedVestingAccount.encode(vested).finish()],
    [
      PeriodicVestingAccount.typeUrl,
      PeriodicVestingAccount.encode(PeriodicVestingAccount.fromPartial(vested)).finish(),
    ],
    [PermanentLockedAccount.typeUrl, PermanentLockedAccount.encode(vested).finish()],
  ])('of the type %s is read', async (typeUrl, value) => {
    const own = await answering({ [ACCOUNT]: packed(typeUrl, value) })
    expect(await own.account(payer)).toEqual({ address: payer, accountNumber: 7n, sequence: 3n })
  })

  test('of an unknown type is named', async () => {
    const own = await answering({ [ACCOUNT]: packed('/odd.v1.Account', new Uint8Array()) })
    const problem = await own.account(payer).catch((error: unknown) => error)
    expect(problem).toBeInstanceOf(ChainUnavailable)
    expect(String(problem)).toContain('/odd.v1.Account')
  })

  test('comes with the key that its chain knows', async () => {
    const pubKey = { typeUrl: '/cosmos.crypto.secp256k1.PubKey', value: Uint8Array.of(1) }
    const value = BaseAccount.encode(BaseAccount.fromPartial({ ...base, pubKey })).finish()
    const own = await answering({ [ACCOUNT]: packed(BaseAccount.typeUrl, value) })
    expect(await own.account(payer)).toMatchObject({ publicKey: pubKey })
  })

  test('is undefined where its chain has none, and the height is returned all the same', async () => {
    const own = await answering({ [ACCOUNT]: () => notFound })
    expect(await own.account(payer)).toBeUndefined()
    expect(await own.accountAt(payer)).toEqual({ account: undefined, height: 50n })
  })

  test('is asked for by its address, and by the height', async () => {
    const asked: [string, string][] = []
    const own = await answering({
      [ACCOUNT]: (data, height) => {
        asked.push([QueryAccountRequest.decode(data).address, height])
        return baseAccount(data, height)
      },
    })
    await own.account(payer)
    await own.account(payer, 40n)
    expect(asked).toEqual([
      [payer, '0'],
      [payer, '40'],
    ])
  })

  test.each<[string, AbciResponse]>([
    [
      'of another address',
      packed(BaseAccount.typeUrl, BaseAccount.encode({ ...base, address: other }).finish()),
    ],
    ['that cannot be read', () => ({ value: Uint8Array.of(0x0a, 0xff) })],
    ['of no height', (...asked) => ({ ...baseAccount(...asked), height: '0' })],
    [
      'by no code that means so',
      () => ({ code: 18, codespace: 'sdk', log: 'failed to load state at height 40' }),
    ],
  ])('is not believed where a node answers one %s', async (_, answer) => {
    await expect((await answering({ [ACCOUNT]: answer })).account(payer)).rejects.toThrow(ChainUnavailable)
  })

  test('as of a height is asked of the next node, where one lacks that state or tells of another', async () => {
    const sound = await node({ [ACCOUNT]: baseAccount })
    for (const answer of [
      () => ({ code: 26, codespace: 'sdk', log: 'cannot query with height in the future: invalid height' }),
      (...asked: Parameters<AbciResponse>) => ({ ...baseAccount(...asked), height: '50' }),
    ]) {
      const odd = await node({ [ACCOUNT]: answer })
      expect(await rpc(odd, sound).account(payer, 40n)).toMatchObject({ sequence: 3n })
      await expect(rpc(odd).account(payer, 40n)).rejects.toThrow(ChainUnavailable)
    }
  })
})

describe('what there is of a denomination', () => {
  const coin = (denom: string, amount: string) => ({ denom, amount })
  const balance = (denom: string, amount: string) => () => ({
    value: QueryBalanceResponse.encode({ balance: coin(denom, amount) }).finish(),
  })

  test('is returned for an account and in total', async () => {
    const supply = QuerySupplyOfResponse.encode({ amount: coin('uatom', '9') }).finish()
    const own = await answering({ [BALANCE]: balance('uatom', '5'), [SUPPLY]: () => ({ value: supply }) })
    expect(await own.balance(payer, 'uatom')).toBe(5n)
    expect(await own.supply('uatom')).toBe(9n)
  })

  test.each([
    ['another denomination', balance('uosmo', '5')],
    ['no number', balance('uatom', '-5')],
    ['nothing', () => ({})],
  ])('is not believed where a node tells %s', async (_, answer) => {
    await expect((await answering({ [BALANCE]: answer })).balance(payer, 'uatom')).rejects.toThrow(
      ChainUnavailable,
    )
  })
})

describe('the limit of a memo', () => {
  const params = (maxMemoCharacters: bigint) => () => ({
    value: AuthParamsResponse.encode(
      AuthParamsResponse.fromPartial({ params: { maxMemoCharacters } }),
    ).finish(),
  })

  test('is asked for once by all who ask', async () => {
    const started = await node({ [AUTH_PARAMS]: params(256n) })
    const own = rpc(started)
    expect(await Promise.all([own.memoLimit(), own.memoLimit()])).toEqual([256, 256])
    expect(await own.memoLimit()).toBe(256)
    expect(started.requests.flat().filter(({ method }) => method === 'abci_query')).toHaveLength(1)
  })

  test('is asked for again where it was not told', async () => {
    let limit = 0n
    const own = await answering({ [AUTH_PARAMS]: () => params(limit)() })
    await expect(own.memoLimit()).rejects.toThrow(ChainUnavailable)
    limit = 512n
    expect(await own.memoLimit()).toBe(512)
  })
})

describe('whether a denomination is sent', () => {
  const general =
    (defaultSendEnabled: boolean, sendEnabled: { denom: string; enabled: boolean }[] = []) =>
    () => ({
      // oxlint-disable-next-line typescript/no-deprecated -- where old chains have it
      value: QueryParamsResponse.encode({ params: { defaultSendEnabled, sendEnabled } }).finish(),
    })
  const entries =
    (...sendEnabled: { denom: string; enabled: boolean }[]) =>
    () => ({
      value: QuerySendEnabledResponse.encode(QuerySendEnabledResponse.fromPartial({ sendEnabled })).finish(),
    })

  test('is that of its entry, or the default without one', async () => {
    for (const enabled of [true, false]) {
      const of = { [BANK_PARAMS]: general(!enabled), [SEND_ENABLED]: entries({ denom: 'uatom', enabled }) }
      expect(await (await answering(of)).sendEnabled('uatom')).toBe(enabled)
      const without = { [BANK_PARAMS]: general(enabled), [SEND_ENABLED]: entries() }
      expect(await (await answering(without)).sendEnabled('uatom')).toBe(enabled)
    }
  })

  test('comes from the parameters where the chain has no query for it', async () => {
    const own = await answering({ [BANK_PARAMS]: general(true, [{ denom: 'uatom', enabled: false }]) })
    expect(await own.sendEnabled('uatom')).toBe(false)
    expect(await own.sendEnabled('uosmo')).toBe(true)
  })
})

describe('the metadata of a denomination', () => {
  const metadata = (baseDenom: string) => () => ({
    value: QueryDenomMetadataResponse.encode({
      metadata: Metadata.fromPartial({ base: baseDenom, symbol: 'ATOM' }),
    }).finish(),
  })
  test('is undefined where the chain has none, and not believed where it is another’s', async () => {
    expect(await (await answering({ [METADATA]: metadata('uatom') })).metadata('uatom')).toMatchObject({
      symbol: 'ATOM',
    })
    expect(await (await answering({ [METADATA]: () => notFound })).metadata('uatom')).toBeUndefined()
    await expect((await answering({ [METADATA]: metadata('uosmo') })).metadata('uatom')).rejects.toThrow(
      ChainUnavailable,
    )
  })
})

describe('an allowance', () => {
  const grant = (granter: string, grantee: string) => () => ({
    value: QueryAllowanceResponse.encode({
      allowance: {
        granter,
        grantee,
        allowance: {
          typeUrl: BasicAllowance.typeUrl,
          value: BasicAllowance.encode({ spendLimit: [{ denom: 'uatom', amount: '5' }] }).finish(),
        },
      },
    }).finish(),
  })

  test('is read, and undefined where there is none by whatever code the chain says so', async () => {
    const own = await answering({ [ALLOWANCE]: grant(other, payer) })
    expect(await own.allowance(other, payer)).toMatchObject({ limits: [new Map([['uatom', 5n]])] })
    for (const [code, log] of [
      [18, 'rpc error: code = Internal desc = fee-grant not found: not found: invalid request'],
      [18, 'rpc error: code = Internal desc = fee-grant not found: unauthorized: invalid request'],
      [6, 'rpc error: code = Internal desc = fee-grant not found: not found: unknown request'],
      [38, 'fee-grant not found: not found'],
    ] as const)
      expect(
        await (
          await answering({ [ALLOWANCE]: () => ({ code, codespace: 'sdk', log }) })
        ).allowance(other, payer),
      ).toBeUndefined()
  })

  test('is never from a state before the block that is asked for, and by a refusal that names no state', async () => {
    const noGrant = { code: 38, codespace: 'sdk', log: 'fee-grant not found: not found' }
    const [behind, fresh] = [
      await node({ [ALLOWANCE]: () => ({ ...noGrant, height: '8' }) }),
      await node({ [ALLOWANCE]: () => ({ ...grant(other, payer)(), height: '9' }) }),
    ]
    await expect(rpc(behind).allowance(other, payer, 9n)).rejects.toThrow('block 8, behind 9')
    expect(await rpc(behind, fresh).allowance(other, payer, 9n)).toBeDefined()
    expect(await rpc(behind).allowance(other, payer, 8n)).toBeUndefined()
    const nameless = await answering({ [ALLOWANCE]: () => ({ ...noGrant, height: '0' }) })
    expect(await nameless.allowance(other, payer, 9n)).toBeUndefined()
  })

  test('is not believed where it is another’s', async () => {
    const own = await answering({ [ALLOWANCE]: grant(payer, other) })
    await expect(own.allowance(other, payer)).rejects.toThrow(ChainUnavailable)
  })
})

describe('a simulation', () => {
  test('tells the gas, or why the transaction would fail', async () => {
    const value = SimulateResponse.encode({ gasInfo: { gasUsed: 81_000n, gasWanted: 0n } }).finish()
    expect(await (await answering({ [SIMULATE]: () => ({ value }) })).simulate(Uint8Array.of(1))).toEqual({
      gasUsed: 81_000n,
    })
    const log = 'spendable balance 5uatom is smaller than 10uatom: insufficient funds'
    const poor = await answering({ [SIMULATE]: () => ({ code: 5, codespace: 'sdk', log }) })
    expect(await poor.simulate(Uint8Array.of(1))).toEqual({ failure: log })
  })

  test.each([
    [6, 'unknown query path: unknown request'],
    [26, 'app is not ready; please wait for first block: invalid height'],
    [18, 'failed to load state at height 40; version does not exist (latest height: 50): invalid request'],
  ])('fails with code %s where it is the node that cannot run it', async (code, log) => {
    const own = await answering({ [SIMULATE]: () => ({ code, codespace: 'sdk', log }) })
    await expect(own.simulate(Uint8Array.of(1))).rejects.toThrow(ChainUnavailable)
  })
})

function hexOf(account: BaseAccount): string {
  return Buffer.from(BaseAccount.encode(account).finish()).toString('hex')
}
function lengthOf(account: BaseAccount): string {
  return (hexOf(account).length / 2).toString(16).padStart(2, '0')
}
