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

function rpcTo(rpcTimeoutMs: number, ...rpcUrls: string[]) {
  const rpc = createJsonRpc({ name: 'test-net', rpcUrls, rpcTimeoutMs }, protocol)
  closing.push(() => rpc.close())
  return rpc
}
const PATIENT_MS = 10_000

/** A node on a busy machine may not respond within the second that `inspect` waits: asks again until the reports are these. */
async function untilReported({ inspect }: ReturnType<typeof rpcTo>, expected: object[]) {
  for (const deadline = performance.now() + 20_000; ;) {
    const reports = await inspect()
    try {
      expect(reports).toMatchObject(expected)
      return reports
    } catch (error) {
      if (performance.now() > deadline) throw error
    }
  }
}

test('names each node by its host, with its height', async () => {
  const [first, second] = [await node(), await node()]
  second.be('refusing')
  const reports = await untilReported(rpcTo(PATIENT_MS, first.url, second.url), [
    { name: first.host, height: 7n, failingForMs: undefined },
    {
      name: second.host,
      height: undefined,
      lastFailure: { message: 'responded with HTTP status 503', agoMs: expect.any(Number) as number },
      failingForMs: expect.any(Number) as number,
    },
  ])
  const text = JSON.stringify(reports, (_, value: unknown) => (typeof value === 'bigint' ? 0 : value))
  expect(text).not.toMatch(/secret/)
})

test.each<[State, number, string]>([
  ['silent', 300, 'gave no response within 300 ms'],
  ['elsewhere', PATIENT_MS, 'is on other-1'],
])(
  'a %s node fails until it responds again, and keeps its last failure',
  async (state, timeoutMs, message) => {
    const one = await node()
    const rpc = rpcTo(timeoutMs, one.url)
    one.be(state)
    const failing = {
      height: undefined,
      lastFailure: { message },
      failingForMs: expect.any(Number) as number,
    }
    const [first] = await untilReported(rpc, [failing])
    const [later] = await untilReported(rpc, [failing])
    expect(later!.failingForMs).toBeGreaterThan(first!.failingForMs!)
    one.be('open')
    await untilReported(rpc, [
      { name: one.host, height: 7n, lastFailure: { message }, failingForMs: undefined },
    ])
  },
)

test('a failure of any request counts', async () => {
  const one = await node()
  const rpc = rpcTo(PATIENT_MS, one.url)
  one.be('refusing')
  await rpc.requestEach({ method: 'anything', params: [] })
  one.be('open')
  const lastFailure = { message: 'responded with HTTP status 503' }
  await untilReported(rpc, [{ height: 7n, lastFailure, failingForMs: undefined }])
})
