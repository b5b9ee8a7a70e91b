import { type Plan } from '@tollgate/wallet'
import { parseNodes } from '../open-client'

type Provider = { category: string; chain_id: string; rpc: string[]; rest: string[] }

const TIMEOUT_MS = 10_000

/**
 * What a wallet has of the asset of a plan, by a node of the user or of the gateway's providers; undefined if none is known that
 * can say.
 */
export async function readTokenBalance(
  plan: Plan,
  address: string,
  { url, nodes }: { url: string; nodes: readonly string[] },
): Promise<bigint | undefined> {
  const own = parseNodes(nodes)[plan.chain_id]
  const { data } = (await getJson(`${url}/providers`)) as { data: Provider[] }
  const known = data.filter(
    ({ category, chain_id }) => category === plan.ecosystem && chain_id === plan.chain_id,
  )
  // A URL of the gateway itself, in place of a provider's with a key, takes no call without a payment.
  const open = (urls: readonly string[]) => urls.find((address) => !address.startsWith(`${url}/`))
  const node = own ?? open(known.flatMap(({ rpc }) => rpc))
  if (plan.ecosystem === 'evm') return node === undefined ? undefined : evmBalance(node, plan, address)
  const rest = open(known.flatMap((provider) => provider.rest))
  if (rest !== undefined) return cosmosBalance(rest, plan, address)
  return node === undefined ? undefined : cosmosBalanceByRpc(node, plan, address)
}

const BALANCE_OF = '0x70a08231'

async function evmBalance(node: string, { asset_address }: Plan, address: string): Promise<bigint> {
  const data = `${BALANCE_OF}${address.slice(2).toLowerCase().padStart(64, '0')}`
  const result = await rpc(node, 'eth_call', [{ to: asset_address, data }, 'latest'])
  return BigInt(String(result))
}

async function cosmosBalance(rest: string, { asset_address }: Plan, address: string): Promise<bigint> {
  const query = `denom=${encodeURIComponent(asset_address)}`
  const path = `/cosmos/bank/v1beta1/balances/${address}/by_denom?${query}`
  const answer = (await getJson(`${rest.replace(/\/+$/, '')}${path}`)) as { balance: { amount: string } }
  return BigInt(answer.balance.amount)
}

/** `cosmos.bank.v1beta1.Query/Balance`, whose fields are all texts of less than 128 bytes. */
async function cosmosBalanceByRpc(node: string, { asset_address }: Plan, address: string): Promise<bigint> {
  const data = Buffer.concat([protobufText(1, address), protobufText(2, asset_address)]).toString('hex')
  const params = { path: '/cosmos.bank.v1beta1.Query/Balance', data, height: '0', prove: false }
  const result = (await rpc(node, 'abci_query', params)) as { response: { code: number; value?: string } }
  const { code, value } = result.response
  if (code !== 0 || !value) throw new Error('The node refused the query')
  const coin = protobufField(Buffer.from(value, 'base64'), 1)
  const amount = coin && protobufField(coin, 2)
  return amount ? BigInt(amount.toString()) : 0n
}

const protobufText = (field: number, text: string) => {
  const bytes = Buffer.from(text)
  return Buffer.concat([Buffer.from([(field << 3) | 2, bytes.length]), bytes])
}

/** Of a message that has only fields of bytes, each shorter than 128. */
function protobufField(message: Buffer, field: number): Buffer | undefined {
  for (let at = 0; at + 1 < message.length;) {
    const [tag = 0, length = 0] = message.subarray(at, at + 2)
    const bytes = message.subarray(at + 2, at + 2 + length)
    if (tag === ((field << 3) | 2)) return bytes
    at += 2 + length
  }
  return undefined
}

async function rpc(node: string, method: string, params: unknown): Promise<unknown> {
  const answer = await fetch(node, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    signal: AbortSignal.timeout(TIMEOUT_MS),
  })
  const { result, error } = (await answer.json()) as { result?: unknown; error?: { message?: string } }
  if (error) throw new Error(error.message ?? 'The node refused the call')
  return result
}

async function getJson(url: string): Promise<unknown> {
  const answer = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) })
  if (!answer.ok) throw new Error(`${answer.status} from ${new URL(url).host}`)
  return answer.json()
}
