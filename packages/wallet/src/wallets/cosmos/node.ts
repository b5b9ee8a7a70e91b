import * as v from 'valibot'
import { TollgateError } from '../../errors.js'
import { createHttp, isLost } from '../../http.js'
import { type Stops } from '../../stops.js'
import { fromBase64 } from './base64.js'
import { bytesAt, type Fields, numberAt, readMessage, textAt, writeMessage } from './protobuf.js'

const TIMEOUT_MS = 15_000
const MAX_ANSWER_BYTES = 1024 * 1024

const Answer = v.object({
  result: v.optional(v.unknown()),
  error: v.optional(v.object({ code: v.number(), message: v.string(), data: v.optional(v.unknown()) })),
})

const Query = v.object({
  response: v.object({
    code: v.optional(v.number(), 0),
    codespace: v.optional(v.string(), ''),
    log: v.optional(v.string(), ''),
    value: v.nullish(v.string()),
  }),
})

const Status = v.object({
  node_info: v.object({ network: v.string() }),
  sync_info: v.object({
    latest_block_height: v.pipe(v.string(), v.regex(/^[0-9]{1,15}$/)),
    catching_up: v.boolean(),
  }),
})

/** `type` of the account and `keyType` of its key are type URLs; a key is known once the account has signed. */
export type ChainAccount = { accountNumber: bigint; sequence: bigint; type: string; keyType?: string }

type Place = { url: string; chainId: string; stops: Stops; timeoutMs?: number }

/** What a payment needs of a CometBFT node. Every error names the chain. */
export function createNode({ url, chainId, stops: { closed, signal }, timeoutMs = TIMEOUT_MS }: Place) {
  const http = createHttp({ timeoutMs, closed })
  const node = `The node of ${chainId}`

  async function send(method: string, params: object): Promise<unknown> {
    try {
      const answer = await http.send(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
        signal,
      })
      return await http.readJson(answer, { signal, maxBytes: MAX_ANSWER_BYTES })
    } catch (cause) {
      if (!(cause instanceof TollgateError) || !isLost(cause)) throw cause
      throw new TollgateError(cause.code, `${node} did not answer: ${cause.message}`, { cause })
    }
  }

  async function ask<T>(method: string, params: object, schema: v.GenericSchema<unknown, T>): Promise<T> {
    const body = await send(method, params)
    const { error, result } = orMalformed(method, () => v.parse(Answer, body))
    if (error) throw new TollgateError('RPC_ERROR', `${node}: ${error.message}`, { details: error })
    return orMalformed(method, () => v.parse(schema, result))
  }

  function orMalformed<T>(method: string, read: () => T): T {
    try {
      return read()
    } catch (cause) {
      throw new TollgateError('RPC_ERROR', `${node} gave a malformed answer to ${method}`, { cause })
    }
  }

  async function query(path: string, request: Uint8Array) {
    const data = Array.from(request, (byte) => byte.toString(16).padStart(2, '0')).join('')
    const { response } = await ask('abci_query', { path, data, height: '0', prove: false }, Query)
    const read = <T>(decode: (fields: Fields) => T): T =>
      orMalformed(path, () => decode(readMessage(fromBase64(response.value ?? ''))))
    return { ...response, read }
  }

  return {
    /** @throws TollgateError PAYMENT_REFUSED if it does not exist */
    async account(address: string): Promise<ChainAccount> {
      const path = '/cosmos.auth.v1beta1.Query/Account'
      const { code, codespace, log, read } = await query(path, writeMessage({ 1: address }))
      if (code === NOT_FOUND && codespace === 'sdk')
        throw new TollgateError(
          'PAYMENT_REFUSED',
          `${address} has no account on ${chainId} yet: it holds no balance, and the first transfer to it creates it`,
        )
      if (code !== 0)
        throw new TollgateError('RPC_ERROR', `${node}: ${log}`, { details: { code, codespace } })
      return read((fields) => readAccount(bytesAt(fields, 1), address))
    },

    /** Of the newest block. */
    async height(): Promise<bigint> {
      const { node_info, sync_info } = await ask('status', {}, Status)
      if (node_info.network !== chainId)
        throw new TollgateError('RPC_ERROR', `${node} is on the chain ${node_info.network}`)
      if (sync_info.catching_up)
        throw new TollgateError('RPC_ERROR', `${node} is still catching up with its chain`)
      return BigInt(sync_info.latest_block_height)
    },

    /** In the form `0.025uatom,0.1ibc/…`; empty if the node states none. */
    async minimumGasPrices(): Promise<string> {
      const { code, read } = await query('/cosmos.base.node.v1beta1.Service/Config', new Uint8Array())
      return code === 0 ? read((fields) => textAt(fields, 1)) : ''
    },
  }
}

/** Of the codespace `sdk`: gRPC's NotFound. */
const NOT_FOUND = 22

/** Reads a BaseAccount, also of an account whose first field it is, or the first field of its first field. */
function readAccount(packed: Uint8Array, address: string): ChainAccount {
  const account = readMessage(packed)
  const base = findBaseAccount(bytesAt(account, 2), address)
  const keyType = textAt(readMessage(bytesAt(base, 2)), 1)
  return {
    accountNumber: numberAt(base, 3),
    sequence: numberAt(base, 4),
    type: textAt(account, 1),
    ...(keyType !== '' && { keyType }),
  }
}

function findBaseAccount(message: Uint8Array, address: string): Fields {
  const fields = readMessage(message)
  if (textAt(fields, 1) === address) return fields
  const first = bytesAt(fields, 1)
  if (first.length === 0) throw new RangeError('Not this account')
  return findBaseAccount(first, address)
}
