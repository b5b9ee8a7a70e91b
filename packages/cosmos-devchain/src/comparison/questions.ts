import { toBech32 } from '@cosmjs/encoding'
import { QueryAccountRequest } from 'cosmjs-types/cosmos/auth/v1beta1/query'
import {
  QueryBalanceRequest,
  QueryDenomMetadataRequest,
  QuerySupplyOfRequest,
} from 'cosmjs-types/cosmos/bank/v1beta1/query'
import {
  QueryAllowanceRequest,
  QueryAllowancesByGranterRequest,
} from 'cosmjs-types/cosmos/feegrant/v1beta1/query'
import { SimulateRequest } from 'cosmjs-types/cosmos/tx/v1beta1/service'
import { moduleAddress } from '../app/address'
import { developmentCosmosSigner, developmentCosmosWallets } from '../wallets'

/** A genesis account that never signs. */
const idle = developmentCosmosWallets[9]?.address ?? ''
const granter = developmentCosmosSigner.address
const unknown = toBech32('cosmos', new Uint8Array(20).fill(7))
const noAddresses = ['', 'x', 'cosmos1x', `${idle.slice(0, -1)}b`, toBech32('osmo', new Uint8Array(20))]

const account = (address: string) => QueryAccountRequest.encode({ address }).finish()
const balance = (address: string, denom = 'uatom') => QueryBalanceRequest.encode({ address, denom }).finish()
const supply = (denom: string) => QuerySupplyOfRequest.encode({ denom }).finish()
const metadata = (denom: string) => QueryDenomMetadataRequest.encode({ denom }).finish()
const allowance = (by: string, grantee: string) =>
  QueryAllowanceRequest.encode({ granter: by, grantee }).finish()
const allowancesBy = (by: string) =>
  QueryAllowancesByGranterRequest.encode(
    QueryAllowancesByGranterRequest.fromPartial({ granter: by }),
  ).finish()
const simulation = (txBytes: Uint8Array) =>
  SimulateRequest.encode(SimulateRequest.fromPartial({ txBytes })).finish()

const AUTH = '/cosmos.auth.v1beta1.Query'
const BANK = '/cosmos.bank.v1beta1.Query'
const FEEGRANT = '/cosmos.feegrant.v1beta1.Query'
const TX = '/cosmos.tx.v1beta1.Service'
const NODE = '/cosmos.base.node.v1beta1.Service'
const NOTHING = new Uint8Array()

/** `abci_query`. */
export const queries: readonly (readonly [what: string, path: string, request: Uint8Array])[] = [
  ['an account', `${AUTH}/Account`, account(idle)],
  ['an account that is not there', `${AUTH}/Account`, account(unknown)],
  ['a module account', `${AUTH}/Account`, account(moduleAddress('fee_collector'))],
  ...noAddresses.map((text) => [`the account of '${text}'`, `${AUTH}/Account`, account(text)] as const),
  ['the parameters of auth', `${AUTH}/Params`, NOTHING],

  ['a balance', `${BANK}/Balance`, balance(idle)],
  ['a balance of none', `${BANK}/Balance`, balance(idle, 'uusdc')],
  ['a balance of an account that is not there', `${BANK}/Balance`, balance(unknown)],
  ...noAddresses.map((text) => [`the balance of '${text}'`, `${BANK}/Balance`, balance(text)] as const),
  ['a balance in an invalid denom', `${BANK}/Balance`, balance(idle, '1')],
  ['a balance in an empty denom', `${BANK}/Balance`, balance(idle, '')],
  ['a balance by a request cut short', `${BANK}/Balance`, balance(idle).slice(0, 9)],
  ['the supply of a denom', `${BANK}/SupplyOf`, supply('uatom')],
  ['the supply of an unknown denom', `${BANK}/SupplyOf`, supply('unone')],
  ['the metadata of an unknown denom', `${BANK}/DenomMetadata`, metadata('unone')],
  ['the metadata of an empty denom', `${BANK}/DenomMetadata`, metadata('')],
  ['the denoms that have a setting of their own', `${BANK}/SendEnabled`, NOTHING],
  ['the parameters of bank', `${BANK}/Params`, NOTHING],

  ['an allowance that is not there', `${FEEGRANT}/Allowance`, allowance(granter, idle)],
  ...noAddresses.map(
    (text) => [`an allowance by '${text}'`, `${FEEGRANT}/Allowance`, allowance(text, idle)] as const,
  ),
  ['the allowances of a granter', `${FEEGRANT}/AllowancesByGranter`, allowancesBy(granter)],

  ['a simulation of nothing', `${TX}/Simulate`, simulation(NOTHING)],
  ['a broadcast', `${TX}/BroadcastTx`, NOTHING],
  ['the price of gas', `${NODE}/Config`, NOTHING],

  ['an unknown query', `${BANK}/Nothing`, NOTHING],
  ['an unknown path', '/nothing', NOTHING],
  ['an unknown path of the app', '/app/nothing', NOTHING],
  ['the root path', '/', NOTHING],
  ['an empty path', '', NOTHING],
]

const hash = (byte: number) => Buffer.alloc(32, byte).toString('base64')

/** JSON-RPC. Results that change with each block are requested at a past height. */
export const calls: readonly (readonly [what: string, method: string, params: unknown])[] = [
  ['health', 'health', {}],
  ['status', 'status', {}],
  ['a block', 'block', { height: '1' }],
  ['block 0', 'block', { height: '0' }],
  ['block -1', 'block', { height: '-1' }],
  ['a block that is not there yet', 'block', { height: '99999999' }],
  ['some headers', 'blockchain', { minHeight: '1', maxHeight: '2' }],
  ['headers from behind', 'blockchain', { minHeight: '3', maxHeight: '1' }],
  ['how many transactions wait', 'num_unconfirmed_txs', {}],
  ['an unknown transaction', 'tx', { hash: hash(0), prove: false }],
  ['a transaction of an empty hash', 'tx', { hash: '', prove: false }],
  ['a search for an unknown hash', 'tx_search', { query: `tx.hash='${'00'.repeat(32)}'` }],
  ['a search for an unknown recipient', 'tx_search', { query: `transfer.recipient='${unknown}'` }],
  ['an empty search', 'tx_search', { query: '' }],
  ['a search that is no query', 'tx_search', { query: 'tx.height' }],
  ['a page that is not there', 'tx_search', { query: "tx.hash='00'", page: '2' }],
  ['an order that is none', 'tx_search', { query: "tx.hash='00'", order_by: 'up' }],
  ['a search that is too long', 'tx_search', { query: `tx.hash='${'0'.repeat(600)}'` }],
  ['a check of no transaction', 'check_tx', { tx: 'AAAA' }],
  ['a broadcast of no transaction', 'broadcast_tx_sync', { tx: 'AAAA' }],
  ['a broadcast of nothing', 'broadcast_tx_sync', { tx: '' }],
  ['an unknown method', 'eth_chainId', {}],
  ['a height that is a number', 'block', { height: 5 }],
  ['a height that is text', 'block', { height: 'five' }],
  ['a transaction that is no base64', 'broadcast_tx_sync', { tx: '%' }],
  ['data that is no hex', 'abci_query', { path: '/', data: 'xyz' }],
  ['too few parameters in a list', 'tx', ['AAAA']],
  ['parameters that are text', 'block', 'latest'],
]

export const paths: readonly string[] = [
  '/health',
  '/block?height=1',
  '/block?height=x',
  '/tx?hash=0x00',
  '/abci_query?path="/nothing"',
  '/nothing',
]

const health = (id: unknown) => ({ jsonrpc: '2.0', id, method: 'health' })

export const bodies: readonly (readonly [what: string, body: unknown])[] = [
  ['text that is no JSON', undefined],
  ['a number', 5],
  ['text', 'status'],
  ['a list of numbers', [5, 6]],
  ['an id that is an object', health({})],
  ['no method', { jsonrpc: '2.0', id: 1 }],
  ['a notification', { jsonrpc: '2.0', method: 'health' }],
  ['a batch', [health(1), health('two')]],
  ['a batch of one', [health(1)]],
  ['an empty batch', []],
  ['a batch that is too large', Array.from({ length: 11 }, (_, id) => health(id))],
]
