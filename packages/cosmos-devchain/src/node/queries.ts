import { BaseAccount, ModuleAccount } from 'cosmjs-types/cosmos/auth/v1beta1/auth'
import {
  QueryAccountRequest,
  QueryAccountResponse,
  QueryParamsResponse as AuthParamsResponse,
} from 'cosmjs-types/cosmos/auth/v1beta1/query'
import {
  QueryBalanceRequest,
  QueryBalanceResponse,
  QueryDenomMetadataRequest,
  QueryDenomMetadataResponse,
  QueryParamsResponse as BankParamsResponse,
  QuerySendEnabledRequest,
  QuerySendEnabledResponse,
  QuerySupplyOfRequest,
  QuerySupplyOfResponse,
} from 'cosmjs-types/cosmos/bank/v1beta1/query'
import {
  QueryAllowanceRequest,
  QueryAllowanceResponse,
  QueryAllowancesByGranterRequest,
  QueryAllowancesByGranterResponse,
} from 'cosmjs-types/cosmos/feegrant/v1beta1/query'
import { Grant } from 'cosmjs-types/cosmos/feegrant/v1beta1/feegrant'
import { readAccount } from '../app/accounts'
import { readAddress } from '../app/address'
import { BYTE_GAS, MEMO_CHARACTERS, SIGNATURE_GAS, SIGNATURE_LIMIT } from '../app/ante'
import { writeAllowance } from '../app/allowance'
import { balanceOf, sendEnabledOf, supplyOf } from '../app/bank'
import { isDenom } from '../app/coins'
import { AbciError } from '../app/errors'
import { allowanceOf, grantsBy } from '../app/feegrant'
import { type Store } from '../app/store'
import { FEE_DENOM, FEE_METADATA } from './fee-denom'
import { grpcError, pageOf, passedOn } from './grpc'

type Query = (state: Store, request: Uint8Array) => Uint8Array

/** The `abci_query` paths that read the state. An invalid address or denom is an invalid argument. */
export const stateQueries: Readonly<Record<string, Query>> = {
  '/cosmos.auth.v1beta1.Query/Account'(state, request) {
    const { address } = QueryAccountRequest.decode(request)
    const { module, base } = accountIn(state, address)
    const typeUrl = `/cosmos.auth.v1beta1.${module === undefined ? 'BaseAccount' : 'ModuleAccount'}`
    const value =
      module === undefined
        ? BaseAccount.encode(base).finish()
        : ModuleAccount.encode({ baseAccount: base, name: module, permissions: [] }).finish()
    return QueryAccountResponse.encode({ account: { typeUrl, value } }).finish()
  },

  '/cosmos.auth.v1beta1.Query/Params': () =>
    AuthParamsResponse.encode({
      params: {
        maxMemoCharacters: BigInt(MEMO_CHARACTERS),
        txSigLimit: BigInt(SIGNATURE_LIMIT),
        txSizeCostPerByte: BigInt(BYTE_GAS),
        sigVerifyCostEd25519: 590n,
        sigVerifyCostSecp256k1: BigInt(SIGNATURE_GAS),
      },
    }).finish(),

  '/cosmos.bank.v1beta1.Query/Balance'(state, request) {
    const { address, denom } = QueryBalanceRequest.decode(request)
    return QueryBalanceResponse.encode({ balance: balanceIn(state, address, denom) }).finish()
  },

  '/cosmos.bank.v1beta1.Query/SupplyOf'(state, request) {
    const denom = denomIn(QuerySupplyOfRequest.decode(request).denom)
    return QuerySupplyOfResponse.encode({ amount: { denom, amount: `${supplyOf(state, denom)}` } }).finish()
  },

  '/cosmos.bank.v1beta1.Query/DenomMetadata'(_, request) {
    const denom = denomIn(QueryDenomMetadataRequest.decode(request).denom)
    if (denom !== FEE_DENOM) throw grpcError('NotFound', `client metadata for denom ${denom}`)
    return QueryDenomMetadataResponse.encode({ metadata: FEE_METADATA }).finish()
  },

  '/cosmos.bank.v1beta1.Query/Params': () =>
    BankParamsResponse.encode(
      BankParamsResponse.fromPartial({ params: { defaultSendEnabled: true } }),
    ).finish(),

  '/cosmos.bank.v1beta1.Query/SendEnabled'(state, request) {
    const { denoms, pagination: wanted } = QuerySendEnabledRequest.decode(request)
    const asked = denoms.length > 0 ? denoms : state.keysOf('send-enabled/').map((key) => key.slice(13))
    const known = asked.flatMap((denom) => {
      const enabled = sendEnabledOf(state, denom)
      return enabled === undefined ? [] : [{ denom, enabled }]
    })
    if (denoms.length > 0) return QuerySendEnabledResponse.encode({ sendEnabled: known }).finish()
    const { page, pagination } = pageOf(known, wanted)
    return QuerySendEnabledResponse.encode({ sendEnabled: page, pagination }).finish()
  },

  '/cosmos.feegrant.v1beta1.Query/Allowance'(state, request) {
    const { granter, grantee } = QueryAllowanceRequest.decode(request)
    const allowance = allowanceOf(state, addressIn(granter), addressIn(grantee))
    if (!allowance) throw grpcError('Internal', 'fee-grant not found: not found')
    const grant = Grant.fromPartial({ granter, grantee, allowance: writeAllowance(allowance) })
    return QueryAllowanceResponse.encode({ allowance: grant }).finish()
  },

  '/cosmos.feegrant.v1beta1.Query/AllowancesByGranter'(state, request) {
    const { granter, pagination: wanted } = QueryAllowancesByGranterRequest.decode(request)
    const { page, pagination } = pageOf(grantsBy(state, addressIn(granter)), wanted)
    return QueryAllowancesByGranterResponse.encode({ allowances: page, pagination }).finish()
  },
}

function accountIn(state: Store, address: string) {
  if (address === '') throw grpcError('InvalidArgument', 'Address cannot be empty')
  const account = readAccount(state, addressIn(address))
  if (!account) throw grpcError('NotFound', `account ${address} not found`)
  const { publicKey, accountNumber, sequence, module } = account
  const base = BaseAccount.fromPartial({
    address: account.address,
    accountNumber,
    sequence,
    ...(publicKey && { pubKey: publicKey }),
  })
  return { module, base }
}

function balanceIn(state: Store, address: string, text: string) {
  const denom = denomIn(text)
  return { denom, amount: balanceOf(state, bankAddressIn(address), denom).toString() }
}

function addressIn(text: string) {
  try {
    return readAddress(text)
  } catch (problem) {
    throw problem instanceof AbciError ? passedOn(problem) : problem
  }
}

function bankAddressIn(text: string) {
  try {
    return readAddress(text)
  } catch (problem) {
    if (!(problem instanceof AbciError)) throw problem
    throw grpcError('InvalidArgument', `invalid address: ${problem.message}`)
  }
}

function denomIn(text: string) {
  if (!isDenom(text)) throw grpcError('InvalidArgument', `invalid denom: ${text}`)
  return text
}
