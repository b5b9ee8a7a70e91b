import fc from 'fast-check'
import { QueryBalanceRequest, QueryBalanceResponse } from 'cosmjs-types/cosmos/bank/v1beta1/query'
import { openNode, type TestNode } from './testing/node'
import { broadcast, deliver, fundedWallet, newWallet, sendMessage, signedTx } from './testing/tx'

let node: TestNode
beforeAll(async () => (node = await openNode()))
afterAll(() => node.close())

type Answer = {
  id?: unknown
  result?: Record<string, unknown>
  error?: { code: number; message: string; data?: string }
}

async function post(
  body: unknown,
  path = '/',
): Promise<{ status: number; answer: Answer | Answer[] | undefined }> {
  const response = await fetch(node.rpcUrl + path, {
    method: 'POST',
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
  const text = await response.text()
  return { status: response.status, answer: text === '' ? undefined : (JSON.parse(text) as Answer) }
}

const request = (method: string, params?: unknown, id: unknown = 1) => ({
  jsonrpc: '2.0',
  id,
  method,
  params,
})
const ask = async (method: string, params?: unknown) => (await post(request(method, params))).answer as Answer
const get = async (path: string) => (await (await fetch(node.rpcUrl + path)).json()) as Answer
const codeOf = async (body: unknown, path?: string) => ((await post(body, path)).answer as Answer).error?.code

function balanceAt(address: string, height: number) {
  const data = Buffer.from(QueryBalanceRequest.encode({ address, denom: 'uatom' }).finish()).toString('hex')
  return ask('abci_query', { path: '/cosmos.bank.v1beta1.Query/Balance', data, height: String(height) }).then(
    ({ result }) => {
      const { code, value } = result!['response'] as { code: number; value: string | null }
      if (code !== 0) return `code ${code}`
      return QueryBalanceResponse.decode(Buffer.from(value ?? '', 'base64')).balance?.amount
    },
  )
}

describe('bad requests get JSON-RPC errors', () => {
  test.each([
    ['no JSON', '{', -32700],
    ['a number', 5, -32700],
    ['text', '"status"', -32700],
    ['a list of numbers', [5, 6], -32700],
    ['an unknown method', request('eth_chainId'), -32601],
    ['a method of every object', request('constructor'), -32601],
    ['no method', { jsonrpc: '2.0', id: 1 }, -32601],
    ['an id that is an object', request('status', {}, {}), -32700],
    ['a height that is a number', request('block', { height: 5 }), -32602],
    ['a height that is none', request('block', { height: 'five' }), -32602],
    ['a transaction that is no base64', request('broadcast_tx_sync', { tx: '%' }), -32602],
    ['data that is no hex', request('abci_query', { path: '/', data: 'xyz' }), -32602],
    ['too few parameters in a list', request('tx', ['AAAA']), -32602],
    ['parameters that are text', request('block', 'latest'), -32602],
    ['a height that is not there yet', request('block', { height: '99999999' }), -32603],
    ['a query that cannot be read', request('tx_search', { query: 'tx.height' }), -32603],
    ['an unknown hash', request('tx', { hash: Buffer.alloc(32).toString('base64') }), -32603],
    ['a page that is not there', request('tx_search', { query: "tx.hash='00'", page: '2' }), -32603],
    [
      'a development method with a wrong address',
      request('dev_fund', { address: 'cosmos1x', coins: '1uatom' }),
      -32602,
    ],
    [
      'a development method with wrong coins',
      request('dev_fund', { address: newWallet().address, coins: '1' }),
      -32602,
    ],
    ['a pace that is none', request('dev_setPace', { pace: 'slow' }), -32602],
  ])('%s', async (_, body, code) => {
    const { answer } = await post(body)
    const { error } = answer as Answer
    expect(error?.code).toBe(code)
    expect(error?.message).toMatch(/.+/)
  })

  test('another path, too large a batch, too large a body, another verb', async () => {
    expect(await codeOf(request('status'), '/rpc')).toBe(-32600)
    expect(await codeOf(Array.from({ length: 11 }, () => request('health')))).toBe(-32600)
    const large = await post(request('broadcast_tx_sync', { tx: 'A'.repeat(1_000_000) }))
    expect([large.status, (large.answer as Answer).error?.code]).toEqual([400, -32600])
    expect((await fetch(node.rpcUrl, { method: 'PUT' })).status).toBe(405)
    const missing = await fetch(`${node.rpcUrl}/nothing`)
    expect([missing.status, await missing.text()]).toEqual([404, '404 page not found'])
    expect((await get('/block?height=x')).error?.code).toBe(-32602)
  })

  test('whatever comes, there is an answer, and the node lives', async () => {
    const methods = ['abci_query', 'broadcast_tx_sync', 'tx_search', 'block', 'tx', 'blockchain', 'dev_mine']
    const parameters = fc.oneof(
      fc.jsonValue(),
      fc.dictionary(fc.constantFrom('tx', 'data', 'path', 'height', 'query', 'page', 'hash'), fc.jsonValue()),
    )
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...methods), parameters, async (method, params) => {
        const { answer } = await post(request(method, params))
        expect(answer).toHaveProperty(['id'], 1)
      }),
      { numRuns: 100 },
    )
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), async (bytes) => {
        expect((await broadcast(node, bytes)).code).toBeGreaterThan(0)
        const data = Buffer.from(bytes).toString('hex')
        const path = '/cosmos.auth.v1beta1.Query/Account'
        const { result } = await ask('abci_query', { path, data })
        expect((result!['response'] as { code: number }).code).toBeGreaterThan(0)
      }),
      { numRuns: 60 },
    )
    expect(await ask('health')).toMatchObject({ result: {} })
  })
})

test('a batch is answered in its order, a notification not at all', async () => {
  const { answer } = await post([
    request('health', {}, 'a'),
    { jsonrpc: '2.0', method: 'health' },
    request('health', [], 7),
  ])
  expect((answer as Answer[]).map(({ id }) => id)).toEqual(['a', 7])
  expect(await post({ jsonrpc: '2.0', method: 'health' })).toEqual({ status: 200, answer: undefined })
})

test('the same is asked by GET', async () => {
  const wallet = await fundedWallet(node)
  const { hash } = await deliver(node, signedTx(node, wallet))
  const { height } = node.chain.latest().header
  expect(await get('/status')).toMatchObject({
    id: -1,
    result: { sync_info: { latest_block_height: String(height) } },
  })
  expect(await get(`/block?height=${height}`)).toMatchObject({
    result: { block: { header: { height: String(height) } } },
  })
  expect(await get(`/tx?hash=0x${hash}&prove=false`)).toMatchObject({ result: { hash } })
  expect(
    await get(`/tx_search?query=${encodeURIComponent(`"tx.acc_seq='${wallet.address}/0'"`)}`),
  ).toMatchObject({
    result: { total_count: '1' },
  })
  const tx = Buffer.from(signedTx(node, wallet)).toString('hex')
  expect(await get(`/broadcast_tx_sync?tx=0x${tx}`)).toMatchObject({ result: { code: 0 } })
  await node.call('dev_dropPending')
})

test('every block names the one before, its transactions and the state that it found', async () => {
  const wallet = await fundedWallet(node)
  await deliver(node, signedTx(node, wallet))
  node.chain.mine()
  node.chain.mine()
  const newest = node.chain.latest().header.height
  const blocks = [3, 2, 1, 0].map((back) => node.chain.block(newest - back)!)
  blocks.slice(1).forEach((block, i) => expect(block.header.lastBlockHash).toBe(blocks[i]!.hash))
  expect(new Set(blocks.map(({ hash }) => hash)).size).toBe(4)
  const [, paid, after, later] = blocks.map(({ header }) => header)
  expect(after!.appHash).not.toBe(paid!.appHash)
  expect(later!.appHash).toBe(after!.appHash)
  expect(paid!.dataHash).not.toBe(after!.dataHash)
  expect(after!.lastResultsHash).not.toBe(later!.lastResultsHash)
  const times = blocks.map(({ header }) => header.time)
  expect(times).toEqual(times.toSorted((a, b) => a - b))
})

test('a query at a height sees the state after that block, as far back as two hundred', async () => {
  const wallet = await fundedWallet(node, '7uatom')
  const { height } = node.chain.latest().header
  await node.call('dev_fund', wallet.address, '5uatom')
  expect(
    await Promise.all([height - 1, height, height + 1, 0].map((at) => balanceAt(wallet.address, at))),
  ).toEqual(['0', '7', '12', '12'])
  expect(await balanceAt(wallet.address, height + 2)).toBe('code 26')
  await node.call('dev_mine', '200')
  expect(await balanceAt(wallet.address, height)).toBe('code 38')
  expect(await balanceAt(wallet.address, height + 1)).toBe('12')
})

test('an unknown path is an unknown request (6), and a broadcast cannot be asked for (18)', async () => {
  const codes = ['/cosmos.nowhere.v1.Query/X', '', '/cosmos.tx.v1beta1.Service/BroadcastTx'].map(
    async (path) => {
      const { result } = await ask('abci_query', { path, data: '' })
      return (result!['response'] as { code: number }).code
    },
  )
  expect(await Promise.all(codes)).toEqual([6, 6, 18])
})

test('a search is paged, and ordered either way', async () => {
  const wallet = await fundedWallet(node, '100000000uatom')
  const to = newWallet().address
  for (let sequence = 0n; sequence < 35n; sequence++)
    await broadcast(
      node,
      signedTx(node, wallet, { sequence, messages: [sendMessage(wallet.address, to, '1')] }),
    )
  node.chain.mine()
  const search = async (more: object) => {
    const { result } = await ask('tx_search', { query: `transfer.recipient='${to}'`, ...more })
    return {
      total: result?.['total_count'],
      txs: (result!['txs'] as { index: number }[]).map(({ index }) => index),
    }
  }
  expect(await search({})).toEqual({ total: '35', txs: Array.from({ length: 30 }, (_, i) => i) })
  expect(await search({ page: '2' })).toEqual({ total: '35', txs: [30, 31, 32, 33, 34] })
  expect((await search({ order_by: 'desc', per_page: '2' })).txs).toEqual([34, 33])
  expect((await search({ per_page: '1000' })).txs).toHaveLength(35)
})

test('what is refused without a check says so as CometBFT does', async () => {
  const wallet = await fundedWallet(node)
  const tx = Buffer.from(signedTx(node, wallet)).toString('base64')
  await ask('broadcast_tx_sync', { tx })
  expect(await ask('broadcast_tx_sync', { tx })).toMatchObject({
    error: { code: -32603, message: 'Internal error', data: 'tx already exists in cache' },
  })
  await node.call('dev_dropPending')
})
