import { type NodeProtocol } from './endpoint'
import { createJsonRpc } from './rpc'
import { startNode } from './testing/node'

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

const protocol: NodeProtocol = {
  identity: {
    request: { method: 'chain', params: [] },
    problem: (result) => (result === 'test-1' ? undefined : `is on ${String(result)}`),
  },
  height: {
    request: { method: 'height', params: [] },
    read: (result) => (typeof result === 'number' ? BigInt(result) : undefined),
  },
  maxBatch: 20,
  lacksMethod: () => false,
  errorMessage: ({ message }) => message,
}

type State = 'open' | 'refusing' | 'silent' | 'elsewhere'

/** A node at block 7 whose state a test changes. */
async function node() {
  let state: State = 'open'
  const started = await startNode(([message], response) => {
    if (state === 'silent') return
    if (state === 'refusing') response.statusCode = 503
    const chain = state === 'elsewhere' ? 'other-1' : 'test-1'
    const result = message?.method === 'chain' ? chain : 7
    response.end(JSON.stringify({ jsonrpc: '2.0', id: message?.id, result }))
  })
  closing.push(() => started.close())
  return {
    url: `${started.url}/v2/secret-key`,
    host: new URL(started.url).host,
    be: (next: State) => (state = next),
  }
}

function rpcTo(...rpcUrls: string[]) {
  const rpc = createJsonRpc({ name: 'test-net', rpcUrls, rpcTimeoutMs: 200 }, protocol)
  closing.push(() => rpc.close())
  return rpc
}

test('names each node by its host, with its height', async () => {
  const [first, second] = [await node(), await node()]
  second.be('refusing')
  const reports = await rpcTo(first.url, second.url).inspect()
  expect(reports).toEqual([
    { name: first.host, height: 7n, lastFailure: undefined, failingForMs: undefined },
    {
      name: second.host,
      height: undefined,
      lastFailure: { message: 'responded with HTTP status 503', agoMs: expect.any(Number) as number },
      failingForMs: expect.any(Number) as number,
    },
  ])
  expect(JSON.stringify(reports, (_, value: unknown) => (typeof value === 'bigint' ? 0 : value))).not.toMatch(
    /secret/,
  )
})

test.each<[State, string]>([
  ['silent', 'gave no response within 200 ms'],
  ['elsewhere', 'is on other-1'],
])('a %s node fails until it responds again, and keeps its last failure', async (state, message) => {
  const one = await node()
  const rpc = rpcTo(one.url)
  one.be(state)
  const [failing] = await rpc.inspect()
  const [later] = await rpc.inspect()
  expect(later).toMatchObject({ height: undefined, lastFailure: { message } })
  expect(later!.failingForMs).toBeGreaterThan(failing!.failingForMs!)
  one.be('open')
  expect(await rpc.inspect()).toEqual([
    {
      name: one.host,
      height: 7n,
      lastFailure: { message, agoMs: expect.any(Number) as number },
      failingForMs: undefined,
    },
  ])
})

test('a failure of any request counts', async () => {
  const one = await node()
  const rpc = rpcTo(one.url)
  await rpc.inspect()
  one.be('refusing')
  await rpc.requestEach({ method: 'anything', params: [] })
  one.be('open')
  expect(await rpc.inspect()).toMatchObject([
    {
      height: 7n,
      lastFailure: { message: 'responded with HTTP status 503' },
      failingForMs: undefined,
    },
  ])
})
