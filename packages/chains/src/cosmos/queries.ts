import {
  QueryAccountRequest,
  QueryAccountResponse,
  QueryParamsRequest as AuthParamsRequest,
  QueryParamsResponse as AuthParamsResponse,
} from 'cosmjs-types/cosmos/auth/v1beta1/query'
import type { Metadata } from 'cosmjs-types/cosmos/bank/v1beta1/bank'
import {
  QueryBalanceRequest,
  QueryBalanceResponse,
  QueryDenomMetadataRequest,
  QueryDenomMetadataResponse,
  QueryParamsRequest,
  QueryParamsResponse,
  QuerySendEnabledRequest,
  QuerySendEnabledResponse,
  QuerySupplyOfRequest,
  QuerySupplyOfResponse,
} from 'cosmjs-types/cosmos/bank/v1beta1/query'
import type { Coin } from 'cosmjs-types/cosmos/base/v1beta1/coin'
import { QueryAllowanceRequest, QueryAllowanceResponse } from 'cosmjs-types/cosmos/feegrant/v1beta1/query'
import { SimulateRequest, SimulateResponse } from 'cosmjs-types/cosmos/tx/v1beta1/service'
import { ChainUnavailable } from '../errors'
import { type Account, readAccount } from './account'
import type { Query } from './rpc-schemas'
import { type Allowance, readAllowance } from './settlement/feegrant/allowance'

/** An error of the application, with a code of the Cosmos SDK. */
export type QueryError = Pick<Query, 'code' | 'codespace' | 'log'>

/** The state at this `height`, or the newest state, which must not be older than `minBlock`. */
type StateSelector = { height?: bigint; minBlock?: bigint }

/** Rejects with `ChainUnavailable` if every node responds with an error that is not expected. */
type RunQuery = (
  path: string,
  request: Uint8Array,
  options?: StateSelector & { isExpectedError?: (error: QueryError) => boolean },
) => Promise<Query>

/** gRPC's NotFound, for a missing key. A pruned state has another code. */
const isNotFound = ({ code, codespace }: QueryError): boolean => code === 22 && codespace === 'sdk'

/** The code depends on the version of the feegrant module; the message does not. */
const isGrantNotFound = (error: QueryError): boolean =>
  isNotFound(error) || /\bfee-?(?:grant| allowance) not found/i.test(error.log)

/** Older versions of the SDK lack some methods. */
const lacksQuery = ({ code, log }: QueryError): boolean => code === 6 && /unknown query path/i.test(log)

export const SIMULATE = '/cosmos.tx.v1beta1.Service/Simulate'

/** Whether an empty request shows that the node cannot simulate, because its gRPC and REST servers are both off. */
export const lacksSimulate = lacksQuery

/** The node, not the transaction, is at fault: it lacks the method, or the state. */
const cannotSimulate = (error: QueryError): boolean =>
  lacksQuery(error) ||
  error.code === 26 ||
  /failed to load state|version (mismatch|does not exist)/i.test(error.log)

const MEMO_LIMIT_TTL_MS = 60_000

/** Queries of the Cosmos SDK's modules, on the newest state unless a height is given. */
export function createQueries(name: string, query: RunQuery) {
  function decode<T>(path: string, decodeValue: (value: Uint8Array) => T, { value }: Query): T {
    try {
      return decodeValue(value)
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      throw new ChainUnavailable(`${name} gave a malformed response to ${path}: ${reason}`, {
        cause: error,
      })
    }
  }

  /** The account, undefined if it does not exist, and the height of the state that was queried. */
  async function accountAt(
    address: string,
    state: StateSelector = {},
  ): Promise<{ account: Account | undefined; height: bigint }> {
    const path = '/cosmos.auth.v1beta1.Query/Account'
    const request = QueryAccountRequest.encode({ address }).finish()
    const result = await query(path, request, { ...state, isExpectedError: isNotFound })
    if (result.height === 0n) throw new ChainUnavailable(`${name} does not return the height of its state`)
    if (result.code !== 0) return { account: undefined, height: result.height }
    const account = decode(path, decodeAccount, result)
    if (account.address.toLowerCase() !== address)
      throw new ChainUnavailable(
        `${name} responded with the account ${account.address} instead of ${address}`,
      )
    return { account, height: result.height }
  }

  async function amount(
    path: string,
    denom: string,
    request: Uint8Array,
    decodeCoin: (value: Uint8Array) => Coin | undefined,
    state: StateSelector = {},
  ): Promise<bigint> {
    const coin = decode(path, (value) => coinOf(decodeCoin(value)), await query(path, request, state))
    if (coin.denom !== denom)
      throw new ChainUnavailable(`${name} responded to ${path} with ${coin.denom} instead of ${denom}`)
    return coin.amount
  }

  async function loadMemoLimit(): Promise<number> {
    const path = '/cosmos.auth.v1beta1.Query/Params'
    const result = await query(path, AuthParamsRequest.encode({}).finish())
    const { params } = decode(path, AuthParamsResponse.decode, result)
    // The default of a missing field: no chain sets it to 0.
    if (params.maxMemoCharacters === 0n)
      throw new ChainUnavailable(`${name} does not return the parameters of the auth module`)
    return Number(params.maxMemoCharacters)
  }

  let memoLimit: { limit: Promise<number>; at: number } | undefined

  return {
    accountAt,
    account: async (address: string, height?: bigint): Promise<Account | undefined> =>
      (await accountAt(address, height === undefined ? {} : { height })).account,

    /** Smallest units. */
    balance: (address: string, denom: string, minBlock = 0n): Promise<bigint> =>
      amount(
        '/cosmos.bank.v1beta1.Query/Balance',
        denom,
        QueryBalanceRequest.encode({ address, denom }).finish(),
        (value) => QueryBalanceResponse.decode(value).balance,
        { minBlock },
      ),

    /** Smallest units; 0 if the denomination does not exist. */
    supply: (denom: string): Promise<bigint> =>
      amount(
        '/cosmos.bank.v1beta1.Query/SupplyOf',
        denom,
        QuerySupplyOfRequest.encode({ denom }).finish(),
        (value) => QuerySupplyOfResponse.decode(value).amount,
      ),

    /** Whether the bank module allows transfers, by the denomination's own entry or else by the default. */
    async sendEnabled(denom: string): Promise<boolean> {
      const [path, defaultPath] = [
        '/cosmos.bank.v1beta1.Query/SendEnabled',
        '/cosmos.bank.v1beta1.Query/Params',
      ]
      const [own, general] = await Promise.all([
        query(
          path,
          QuerySendEnabledRequest.encode(QuerySendEnabledRequest.fromPartial({ denoms: [denom] })).finish(),
          {
            isExpectedError: lacksQuery,
          },
        ),
        query(defaultPath, QueryParamsRequest.encode({}).finish()),
      ])
      const { params } = decode(defaultPath, QueryParamsResponse.decode, general)
      if (own.code === 0) {
        const [entry] = decode(path, QuerySendEnabledResponse.decode, own).sendEnabled
        return entry?.denom === denom ? entry.enabled : params.defaultSendEnabled
      }
      // oxlint-disable-next-line typescript/no-deprecated -- SDK versions before 0.47 keep the entries here
      const { sendEnabled } = params
      return sendEnabled.find((entry) => entry.denom === denom)?.enabled ?? params.defaultSendEnabled
    },

    /** Undefined if the chain has no metadata of the denomination. */
    async metadata(denom: string): Promise<Metadata | undefined> {
      const path = '/cosmos.bank.v1beta1.Query/DenomMetadata'
      const request = QueryDenomMetadataRequest.encode({ denom }).finish()
      const result = await query(path, request, {
        isExpectedError: (error) => isNotFound(error) || lacksQuery(error),
      })
      if (result.code !== 0) return undefined
      const { metadata } = decode(path, QueryDenomMetadataResponse.decode, result)
      if (metadata.base !== denom)
        throw new ChainUnavailable(
          `${name} responded with the metadata of ${metadata.base} instead of ${denom}`,
        )
      return metadata
    },

    /** Undefined if there is no allowance. */
    async allowance(granter: string, grantee: string, minBlock = 0n): Promise<Allowance | undefined> {
      const path = '/cosmos.feegrant.v1beta1.Query/Allowance'
      const request = QueryAllowanceRequest.encode({ granter, grantee }).finish()
      const result = await query(path, request, { minBlock, isExpectedError: isGrantNotFound })
      if (result.code !== 0) return undefined
      const grant = decode(path, QueryAllowanceResponse.decode, result).allowance
      if (grant?.granter !== granter || grant.grantee !== grantee || grant.allowance === undefined)
        throw new ChainUnavailable(
          `${name} responded with another allowance than that of ${granter} for ${grantee}`,
        )
      return readAllowance(grant.allowance)
    },

    /** Does not check signatures. */
    async simulate(txBytes: Uint8Array, minBlock = 0n): Promise<{ gasUsed: bigint } | { failure: string }> {
      const path = SIMULATE
      const request = SimulateRequest.encode(SimulateRequest.fromPartial({ txBytes })).finish()
      const result = await query(path, request, {
        minBlock,
        isExpectedError: (error) => !cannotSimulate(error),
      })
      if (result.code !== 0) return { failure: result.log.slice(0, 300) }
      const { gasInfo } = decode(path, SimulateResponse.decode, result)
      if (gasInfo === undefined) throw new ChainUnavailable(`${name} returns no gas of a simulation`)
      return { gasUsed: gasInfo.gasUsed }
    },

    /** Maximum bytes of a memo; cached for a minute. */
    memoLimit(): Promise<number> {
      if (memoLimit === undefined || performance.now() - memoLimit.at > MEMO_LIMIT_TTL_MS) {
        const entry = { limit: loadMemoLimit(), at: performance.now() }
        memoLimit = entry
        entry.limit.catch(() => {
          if (memoLimit === entry) memoLimit = undefined
        })
      }
      return memoLimit.limit
    },
  }
}

function decodeAccount(value: Uint8Array): Account {
  const { account } = QueryAccountResponse.decode(value)
  if (account === undefined) throw new Error('no account')
  return readAccount(account)
}

function coinOf(coin: Coin | undefined): { denom: string; amount: bigint } {
  if (coin === undefined || !/^[0-9]{1,78}$/.test(coin.amount)) throw new Error('no amount')
  return { denom: coin.denom, amount: BigInt(coin.amount) }
}
