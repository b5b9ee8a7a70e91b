import { setTimeout as delay } from 'node:timers/promises'
import { BaseAccount } from 'cosmjs-types/cosmos/auth/v1beta1/auth'
import { QueryAccountRequest, QueryAccountResponse } from 'cosmjs-types/cosmos/auth/v1beta1/query'
import { createStore } from '../app/store'
import { signedTx, type TxOverrides, type Wallet } from '../testing/tx'

const INCLUSION_TIMEOUT_MS = 20_000

export type RpcAnswer = {
  result?: unknown
  error?: { code: number; message: string; data?: string }
}

export type QueryAnswer = {
  code: number
  codespace: string
  log: string
  /** base64 */
  value: string | null
  height: string
}

/** The common fields of `check_tx`, a broadcast and an included transaction. */
export type TxAnswer = {
  code: number
  codespace: string
  log: string
  data: string | null
  /** Missing, like events, in the response to a broadcast. */
  gas_used?: string
  events?: { type: string; attributes: { key: string; value: string }[] }[]
}

export type Peer = ReturnType<typeof createPeer>

/** A client of one of the two chains. */
export function createPeer(name: 'development chain' | 'Cosmos SDK', rpcUrl: string, chainId: string) {
  const post = async (body: unknown): Promise<RpcAnswer> => {
    const response = await fetch(rpcUrl, { method: 'POST', body: JSON.stringify(body) })
    return (await response.json()) as RpcAnswer
  }
  const get = async (path: string): Promise<RpcAnswer> =>
    (await (await fetch(rpcUrl + path)).json()) as RpcAnswer
  const call = (method: string, params?: unknown) => post({ jsonrpc: '2.0', id: 1, method, params })

  async function query(
    path: string,
    request: Uint8Array = new Uint8Array(),
    height = 0,
  ): Promise<QueryAnswer> {
    const data = Buffer.from(request).toString('hex')
    const { result, error } = await call('abci_query', { path, data, height: String(height), prove: false })
    if (error) throw new Error(`${name}: ${error.data ?? error.message}`)
    return (result as { response: QueryAnswer }).response
  }

  async function account(address: string) {
    const request = QueryAccountRequest.encode({ address }).finish()
    const { value } = await query('/cosmos.auth.v1beta1.Query/Account', request)
    const found = QueryAccountResponse.decode(Buffer.from(value ?? '', 'base64')).account
    if (!found) throw new Error(`${name} has no account ${address}`)
    return BaseAccount.decode(found.value)
  }

  /** Signs with the account number and sequence of this chain. */
  async function sign(wallet: Wallet, overrides: TxOverrides = {}): Promise<Uint8Array> {
    const { accountNumber, sequence } = await account(wallet.address)
    return signedTx({ chain: { chainId, store: createStore() } }, wallet, {
      sequence,
      ...overrides,
      signed: { accountNumber, ...overrides.signed },
    })
  }

  const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64')
  const broadcast = (bytes: Uint8Array) => call('broadcast_tx_sync', { tx: base64(bytes) })

  /** Broadcasts and waits for inclusion in a block; returns the refusal if it is refused. */
  async function deliver(bytes: Uint8Array) {
    const { result, error } = await broadcast(bytes)
    if (error) throw new Error(`${name}: ${error.data ?? error.message}`)
    const checked = result as TxAnswer & { hash: string }
    if (checked.code !== 0) return { hash: checked.hash, height: 0, tx: checked }
    const deadline = performance.now() + INCLUSION_TIMEOUT_MS
    for (;;) {
      const found = await call('tx', { hash: base64(Buffer.from(checked.hash, 'hex')), prove: false })
      if (found.result) {
        const { height, tx_result } = found.result as { height: string; tx_result: TxAnswer }
        return { hash: checked.hash, height: Number(height), tx: tx_result }
      }
      if (performance.now() > deadline) throw new Error(`${name} did not include ${checked.hash}`)
      await delay(50)
    }
  }

  async function height() {
    const { result } = await call('status')
    return Number((result as { sync_info: { latest_block_height: string } }).sync_info.latest_block_height)
  }

  async function whenHeight(wanted: number) {
    while ((await height()) < wanted) await delay(50)
  }

  return { name, rpcUrl, post, get, call, query, account, sign, broadcast, deliver, height, whenHeight }
}
