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
import { ChainUnavailable } from '../family'
import { type Account, readAccount } from './account'
import type { Query } from './answers'
import { type Allowance, readAllowance } from './feegrant/allowance'

/** The application does not answer what it was asked, by a code of the Cosmos SDK. */
export type Refused = Pick<Query, 'code' | 'codespace' | 'log'>

/** At this `height`, or by the newest state, be it none before the block `since`. */
type When = { height?: bigint; since?: bigint }

/** Asks the application; a node that refuses is passed over, unless it may. */
type Ask = (
  path: string,
  request: Uint8Array,
  options?: When & { mayRefuse?: (refused: Refused) => boolean },
) => Promise<Query>

/** gRPC's NotFound, a key that is not found. A state that the node does not keep is another code. */
const isNotFound = ({ code, codespace }: Refused): boolean => code === 22 && codespace === 'sdk'

/** The feegrant module says so by codes that changed from version to version, and always in these words. */
const hasNoGrant = (refused: Refused): boolean =>
  isNotFound(refused) || /\bfee-?(?:grant| allowance) not found/i.test(refused.log)

/** Methods that came with later versions of the SDK. */
const lacksQuery = ({ code, log }: Refused): boolean => code === 6 && /unknown query path/i.test(log)

export const SIMULATE = '/cosmos.tx.v1beta1.Service/Simulate'

/** Nodes whose gRPC and REST are both off register no service that simulates; others answer an empty question otherwise. */
export const lacksSimulate = lacksQuery

/** Of the node rather than of the transaction: it lacks the method, or the state. */
const cannotSimulate = (refused: Refused): boolean =>
  lacksQuery(refused) ||
  refused.code === 26 ||
  /failed to load state|version (mismatch|does not exist)/i.test(refused.log)

const MEMO_LIMIT_MS = 60_000

/** The queries of the Cosmos SDK's own modules, each in the newest state unless a height is given. */
export function createQueries(name: string, ask: Ask) {
  /** Reads an answer; what cannot be read, or is about something else, is not believed. */
  function read<T>(path: string, decode: (value: Uint8Array) => T, { value }: Query): T {
    try {
      return decode(value)
    } catch (error) {
      const told = error instanceof Error ? error.message : String(error)
      throw new ChainUnavailable(`${name} answers ${path} with what cannot be read: ${told}`, {
        cause: error,
      })
    }
  }

  /** An account, undefined where there is none, and the height of the state it was looked up in. */
  async function accountAt(
    address: string,
    when: When = {},
  ): Promise<{ account: Account | undefined; height: bigint }> {
    const path = '/cosmos.auth.v1beta1.Query/Account'
    const request = QueryAccountRequest.encode({ address }).finish()
    const answer = await ask(path, request, { ...when, mayRefuse: isNotFound })
    if (answer.height === 0n) throw new ChainUnavailable(`${name} does not tell the height of its state`)
    if (answer.code !== 0) return { account: undefined, height: answer.height }
    const account = read(path, decodeAccount, answer)
    if (account.address.toLowerCase() !== address)
      throw new ChainUnavailable(`${name} answers the account ${account.address} when asked for ${address}`)
    return { account, height: answer.height }
  }

  async function amount(
    path: string,
    denom: string,
    request: Uint8Array,
    decode: (value: Uint8Array) => Coin | undefined,
    when: When = {},
  ): Promise<bigint> {
    const coin = read(path, (value) => coinOf(decode(value)), await ask(path, request, when))
    if (coin.denom !== denom)
      throw new ChainUnavailable(`${name} answers ${path} of ${coin.denom} when asked for ${denom}`)
    return coin.amount
  }

  async function askMemoLimit(): Promise<number> {
    const path = '/cosmos.auth.v1beta1.Query/Params'
    const answer = await ask(path, AuthParamsRequest.encode({}).finish())
    const { params } = read(path, AuthParamsResponse.decode, answer)
    // No chain sets it to 0.
    if (params.maxMemoCharacters === 0n)
      throw new ChainUnavailable(`${name} does not tell the parameters of accounts`)
    return Number(params.maxMemoCharacters)
  }

  let memoLimit: { known: Promise<number>; at: number } | undefined

  return {
    accountAt,
    /** Undefined where the chain has no such account. */
    account: async (address: string, height?: bigint): Promise<Account | undefined> =>
      (await accountAt(address, height === undefined ? {} : { height })).account,

    /** Smallest units. */
    balance: (address: string, denom: string, since = 0n): Promise<bigint> =>
      amount(
        '/cosmos.bank.v1beta1.Query/Balance',
        denom,
        QueryBalanceRequest.encode({ address, denom }).finish(),
        (value) => QueryBalanceResponse.decode(value).balance,
        { since },
      ),

    /** Of all there is, in smallest units; 0 where the chain knows no such denomination. */
    supply: (denom: string): Promise<bigint> =>
      amount(
        '/cosmos.bank.v1beta1.Query/SupplyOf',
        denom,
        QuerySupplyOfRequest.encode({ denom }).finish(),
        (value) => QuerySupplyOfResponse.decode(value).amount,
      ),

    /** Whether the bank module sends it at all: by its own entry, and where it has none, by what holds for all. */
    async sendEnabled(denom: string): Promise<boolean> {
      const [path, defaultPath] = [
        '/cosmos.bank.v1beta1.Query/SendEnabled',
        '/cosmos.bank.v1beta1.Query/Params',
      ]
      const [own, general] = await Promise.all([
        ask(
          path,
          QuerySendEnabledRequest.encode(QuerySendEnabledRequest.fromPartial({ denoms: [denom] })).finish(),
          {
            mayRefuse: lacksQuery,
          },
        ),
        ask(defaultPath, QueryParamsRequest.encode({}).finish()),
      ])
      const { params } = read(defaultPath, QueryParamsResponse.decode, general)
      if (own.code === 0) {
        const [entry] = read(path, QuerySendEnabledResponse.decode, own).sendEnabled
        return entry?.denom === denom ? entry.enabled : params.defaultSendEnabled
      }
      // eslint-disable-next-line @typescript-eslint/no-deprecated -- where all entries stood before version 0.47 of the SDK
      const { sendEnabled } = params
      return sendEnabled.find((entry) => entry.denom === denom)?.enabled ?? params.defaultSendEnabled
    },

    /** What the chain says of a denomination; undefined where it says nothing. */
    async metadata(denom: string): Promise<Metadata | undefined> {
      const path = '/cosmos.bank.v1beta1.Query/DenomMetadata'
      const request = QueryDenomMetadataRequest.encode({ denom }).finish()
      const answer = await ask(path, request, {
        mayRefuse: (refused) => isNotFound(refused) || lacksQuery(refused),
      })
      if (answer.code !== 0) return undefined
      const { metadata } = read(path, QueryDenomMetadataResponse.decode, answer)
      if (metadata.base !== denom)
        throw new ChainUnavailable(`${name} answers the metadata of ${metadata.base} when asked for ${denom}`)
      return metadata
    },

    /** What `granter` lets `grantee` spend on fees; undefined where there is no such allowance. */
    async allowance(granter: string, grantee: string, since = 0n): Promise<Allowance | undefined> {
      const path = '/cosmos.feegrant.v1beta1.Query/Allowance'
      const request = QueryAllowanceRequest.encode({ granter, grantee }).finish()
      const answer = await ask(path, request, { since, mayRefuse: hasNoGrant })
      if (answer.code !== 0) return undefined
      const grant = read(path, QueryAllowanceResponse.decode, answer).allowance
      if (grant?.granter !== granter || grant.grantee !== grantee || grant.allowance === undefined)
        throw new ChainUnavailable(`${name} answers another allowance than that of ${granter} for ${grantee}`)
      return readAllowance(grant.allowance)
    },

    /** Runs a transaction on the newest state without its signatures: what gas it takes, or why it would fail. */
    async simulate(txBytes: Uint8Array, since = 0n): Promise<{ gasUsed: bigint } | { failure: string }> {
      const path = SIMULATE
      const request = SimulateRequest.encode(SimulateRequest.fromPartial({ txBytes })).finish()
      const answer = await ask(path, request, {
        since,
        mayRefuse: (refused) => !cannotSimulate(refused),
      })
      if (answer.code !== 0) return { failure: answer.log.slice(0, 300) }
      const { gasInfo } = read(path, SimulateResponse.decode, answer)
      if (gasInfo === undefined) throw new ChainUnavailable(`${name} simulates without telling the gas`)
      return { gasUsed: gasInfo.gasUsed }
    },

    /** How many bytes a memo may have; asked anew after a minute. */
    memoLimit(): Promise<number> {
      if (memoLimit === undefined || performance.now() - memoLimit.at > MEMO_LIMIT_MS) {
        const asked = { known: askMemoLimit(), at: performance.now() }
        memoLimit = asked
        asked.known.catch(() => {
          if (memoLimit === asked) memoLimit = undefined
        })
      }
      return memoLimit.known
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
