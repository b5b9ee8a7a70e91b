import { createHash } from 'node:crypto'
import { families } from '@tollgate/chains'
import { auditAndClose, testGateway, type TestGateway } from '../../testing/gateway'
import { answers, startUpstream, type Answer } from '../../testing/upstream'
import { verdictOf } from './recognise-sent'

let gateway: TestGateway
beforeAll(async () => (gateway = await testGateway()))
afterAll(() => auditAndClose(gateway))

const raw = `0x02${'c0'.repeat(40)}`
const evmHash = families.evm!.transactionHash(Buffer.from(raw.slice(2), 'hex'))
const tx = Buffer.from('a signed transaction')
const cosmosHash = createHash('sha256').update(tx).digest('hex').toUpperCase()

const error = (message: string, data?: string) => ({
  error: { code: -32_000, message, ...(data ? { data } : {}) },
})
const rpc = (id: unknown, member: object) => ({ jsonrpc: '2.0', id, ...member })

type Found = Record<string, unknown> | null
/** Answers a transaction with `known`, and a look-up with `found`. */
const nodeThatKnows =
  (known: unknown, found: Found = null, status = 200): Answer =>
  (res, { url, body }) => {
    const text = body.toString()
    const isLookUp = /getTransactionByHash|"method":"tx"/.test(text) || url?.includes('/txs/')
    const content = isLookUp ? (found ?? rpc(1, { result: null })) : known
    res
      .writeHead(isLookUp ? 200 : status, { 'content-type': 'application/json' })
      .end(JSON.stringify(content))
  }

async function sendTwice(answer: Answer, call: object, first: Answer = answers.reset) {
  const [one, other] = [await startUpstream(first), await startUpstream(answer)]
  const urls = [one.url, other.url]
  const chain_id = await gateway.chain({ rpc: urls, rest: urls })
  const wallet = gateway.wallet()
  await gateway.fund(wallet.address, 100)
  const { call: send } = await wallet.signIn()
  const { status, text, headers } = await send({ chain_id, ...call })
  return {
    status,
    body: JSON.parse(text) as unknown,
    charged: headers['x-credits-charged'],
    lookUps: other.requests.slice(1),
  }
}

const evm = { payload: rpc(7, { method: 'eth_sendRawTransaction', params: [raw] }) }
const comet = {
  payload: rpc('c', { method: 'broadcast_tx_sync', params: { tx: tx.toString('base64') } }),
}
const uri = { method: 'GET', resource: '/broadcast_tx_sync', payload: { tx: `0x${tx.toString('hex')}` } }
const rest = {
  transport: 'rest',
  resource: '/cosmos/tx/v1beta1/txs',
  payload: { tx_bytes: tx.toString('base64'), mode: 'BROADCAST_MODE_SYNC' },
}
const accepted = { code: 0, data: '', log: '', codespace: '', hash: cosmosHash }
const inCache = error('Internal error', 'tx already exists in cache')

describe('a transaction that an upstream took before it broke the connection', () => {
  test.each<[string, object, Answer, unknown]>([
    ['is known', evm, nodeThatKnows(rpc(7, error('already known'))), rpc(7, { result: evmHash })],
    [
      'is known, under 500 and another name',
      evm,
      nodeThatKnows(rpc(7, error('Known transaction')), null, 500),
      rpc(7, { result: evmHash }),
    ],
    [
      'is mined',
      evm,
      nodeThatKnows(rpc(7, error('nonce too low')), rpc(1, { result: { hash: evmHash } })),
      rpc(7, { result: evmHash }),
    ],
    [
      'is in the cache of CometBFT',
      comet,
      nodeThatKnows(rpc('c', inCache), null, 500),
      rpc('c', { result: accepted }),
    ],
    [
      'is in the mempool of the SDK',
      comet,
      nodeThatKnows(rpc('c', { result: { code: 19, codespace: 'sdk', log: 'tx already in mempool' } })),
      rpc('c', { result: accepted }),
    ],
    [
      'is in a block of CometBFT',
      comet,
      nodeThatKnows(
        rpc('c', { result: { code: 32, codespace: 'sdk', log: 'account sequence mismatch' } }),
        rpc(1, { result: { hash: cosmosHash } }),
      ),
      rpc('c', { result: accepted }),
    ],
    ['is known, sent by a URI', uri, nodeThatKnows(rpc(-1, inCache)), rpc(-1, { result: accepted })],
    [
      'is known over REST',
      rest,
      nodeThatKnows({ tx_response: { code: 19, codespace: 'sdk', txhash: cosmosHash } }),
      { tx_response: expect.objectContaining({ code: 0, txhash: cosmosHash }) as object },
    ],
  ])('and that %s at the next one is answered with its hash', async (_, call, answer, expected) => {
    const sent = await sendTwice(answer, call)
    expect([sent.status, sent.body, sent.charged]).toEqual([200, expected, '1'])
  })

  test('is recognised in a batch, by its id', async () => {
    const other = rpc(8, { method: 'eth_sendRawTransaction', params: [`0x${'03'.repeat(9)}`] })
    const known = [rpc(8, error('insufficient funds for transfer')), rpc(7, error('already known'))]
    const sent = await sendTwice(nodeThatKnows(known), { payload: [evm.payload, other] })
    expect(sent.body).toEqual([known[0], rpc(7, { result: evmHash })])
  })
})

test.each<[string, object, Answer, Answer, unknown]>([
  [
    'another transaction of the same nonce',
    evm,
    answers.reset,
    nodeThatKnows(rpc(7, error('nonce too low'))),
    rpc(7, error('nonce too low')),
  ],
  [
    'an underpriced replacement',
    evm,
    answers.reset,
    nodeThatKnows(rpc(7, error('replacement transaction underpriced'))),
    rpc(7, error('replacement transaction underpriced')),
  ],
  [
    "the caller's own second sending",
    evm,
    nodeThatKnows(rpc(7, error('already known'))),
    answers.hang,
    rpc(7, error('already known')),
  ],
])('%s keeps the answer of the node', async (_, call, first, second, expected) => {
  const sent = await sendTwice(second, call, first)
  expect(sent.body).toEqual(expected)
})

test.each([
  [rpc(1, error('already known')), 'known'],
  [rpc(1, error('AlreadyKnown')), 'known'],
  [rpc(1, error('known transaction: 1f')), 'known'],
  [rpc(1, error('Transaction with the same hash was already imported.')), 'known'],
  [rpc(1, error('tx already in mempool')), 'known'],
  [rpc(1, error('Internal error', 'tx already exists in cache')), 'known'],
  [rpc(1, error('nonce too low: next nonce 8, tx nonce 7')), 'stale'],
  [rpc(1, error('OldNonce')), 'stale'],
  [rpc(1, { result: { code: 19, codespace: 'sdk' } }), 'known'],
  [rpc(1, { result: { code: 32, codespace: 'sdk' } }), 'stale'],
  [rpc(1, { result: { code: 19, codespace: 'wasm' } }), undefined],
  [rpc(1, { result: { code: 0, codespace: '' } }), undefined],
  [rpc(1, { result: evmHash }), undefined],
  [{ tx_response: { code: 32, codespace: 'sdk' } }, 'stale'],
  [{ code: 2, message: 'tx already exists in cache' }, 'known'],
  [rpc(1, error('insufficient funds')), undefined],
  [rpc(1, error('transaction underpriced')), undefined],
])('%j is %s', (response, verdict) => expect(verdictOf(response)).toBe(verdict))
