import { type NodeReport } from '@tollgate/chains'
import { type OperatorNetwork, type OperatorOverview } from '@tollgate/protocol'
import { closeAll } from '@tollgate/testing'
import { ADMIN_TOKEN } from '../../testing/accounts'
import { callRpc, ownChain, sharedChain } from '../../testing/chain'
import { testFacilitator, type TestFacilitator, type TestOptions } from '../../testing/facilitator'
import { startFailingNode, startLaggingNode } from '../../testing/failing-node'
import { readAsAdmin, untilRead } from '../../testing/operator-api'
import { startTcpProxy } from '../../testing/tcp-proxy'
import { nodesOf } from './network-view'

afterAll(closeAll)

const started = (options: TestOptions) =>
  testFacilitator({ ...options, variables: { ADMIN_TOKEN, ...options.variables } })

type Networks = { replica: string; networks: OperatorNetwork[] }

/** A node on a busy machine may not respond within a second: asks again until it has. */
const networksWith = (facilitator: TestFacilitator, ...expected: string[][]) =>
  untilRead<Networks>(
    facilitator,
    'networks',
    ({ networks }) =>
      JSON.stringify(networks.map(({ nodes }) => nodes.map(({ state }) => state))) ===
      JSON.stringify(expected),
  )
const networksOf = (facilitator: TestFacilitator) => readAsAdmin<Networks>(facilitator, 'networks')

describe('GET /admin/networks', () => {
  test('shows a node that lags, one that fails, and no part of an RPC URL but its host', async () => {
    const { rpcUrl } = await ownChain()
    await callRpc(rpcUrl, 'anvil_mine', '0x40')
    const behind = await startLaggingNode(rpcUrl, () => 30)
    const failing = await startFailingNode(rpcUrl, 'eth_chainId', () => ({ code: -32000, message: 'no' }))
    const secret = (url: string) => `${url}/v2/secret-path?key=secret-query`
    const facilitator = await started({
      rpcUrl,
      rpcTimeoutMs: 20_000,
      moreRpcUrls: [secret(behind), secret(failing), 'http://secret-user:secret-password@127.0.0.1:1/'],
    })
    const { networks } = await networksWith(facilitator, ['ok', 'behind', 'failing', 'failing'])
    const [network] = networks
    expect(network).toMatchObject({
      network: 'base-sepolia',
      ecosystem: 'evm',
      chainId: '84532',
      status: 'active',
      problem: null,
      error: null,
    })
    const hosts = [rpcUrl, behind, failing].map((url) => new URL(url).host)
    expect(network!.nodes.map(({ position, name, state }) => [position, name, state])).toEqual([
      [1, hosts[0], 'ok'],
      [2, hosts[1], 'behind'],
      [3, hosts[2], 'failing'],
      [4, '127.0.0.1:1', 'failing'],
    ])
    const [first, second, third, fourth] = network!.nodes
    expect(first).toMatchObject({ height: network!.block, lag: 0, lastError: null, since: null })
    expect(second).toMatchObject({ height: network!.block! - 30, lag: 30, lastError: null, since: null })
    const since = expect.stringMatching(/Z$/) as string
    expect(third).toMatchObject({ height: null, lag: null, lastError: 'does not return its chain id', since })
    expect(fourth).toMatchObject({ lastError: 'failed with ECONNREFUSED', lastErrorAt: since, since })
    expect(JSON.stringify(networks)).not.toMatch(/secret/)

    await untilRead<OperatorOverview>(
      facilitator,
      'overview',
      ({ nodes: { total, failing: without, behind: late, error } }) =>
        [total, without, late, error].join() === '4,2,1,',
    )
  })

  test('shows the other networks without waiting for one whose nodes are silent', async () => {
    const proxy = await startTcpProxy(sharedChain())
    proxy.become('silent')
    const dark = { name: 'dark', chainId: '1', rpcUrls: ['http://127.0.0.1:1'] }
    const silent = { name: 'silent', chainId: '2', rpcUrls: [proxy.url], rpcTimeoutMs: 60_000 }
    const facilitator = await started({ networks: [dark, silent] })
    const startedAt = performance.now()
    await networksOf(facilitator)
    expect(performance.now() - startedAt).toBeLessThan(30_000)
    const { networks } = await networksWith(facilitator, ['ok'], ['failing'], ['failing'])
    expect(networks.map(({ network, status }) => [network, status])).toEqual([
      ['base-sepolia', 'active'],
      ['dark', 'unreachable'],
      ['silent', 'unreachable'],
    ])
    expect(networks.slice(1)).toMatchObject([
      { block: null, nodes: [{ state: 'failing', lastError: 'failed with ECONNREFUSED' }], error: null },
      {
        block: null,
        nodes: [{ state: 'failing', lastError: 'gave no height within a second' }],
        error: null,
      },
    ])
  })

  test('many requests cost the nodes as much as one', async () => {
    let asked = 0
    const counting = await startFailingNode(sharedChain(), 'eth_blockNumber', () => void asked++)
    const facilitator = await started({ moreRpcUrls: [counting] })
    await networksOf(facilitator)
    const before = asked
    await Promise.all(Array.from({ length: 60 }, () => networksOf(facilitator)))
    expect(asked - before).toBeLessThan(20)
  })

  test('names the replica that answers, whose view of the nodes is its own', async () => {
    const proxies = [await startTcpProxy(sharedChain()), await startTcpProxy(sharedChain())]
    const first = await started({ rpcUrl: proxies[0]!.url, chainUrl: sharedChain() })
    const second = await testFacilitator({ ...first.settings, rpcUrl: proxies[1]!.url })
    proxies[1]!.become('shut')
    const [one, other] = [await networksWith(first, ['ok']), await networksWith(second, ['failing'])]
    expect(one.replica).not.toBe(other.replica)
    expect(one.networks).toMatchObject([{ status: 'active', nodes: [{ state: 'ok', since: null }] }])
    expect(other.networks).toMatchObject([
      { status: 'unreachable', nodes: [{ state: 'failing', since: expect.any(String) as string }] },
    ])
  })
})

describe('the state of a node', () => {
  const at = new Date('2026-01-15T12:00:00.000Z')
  const report = (more: Partial<NodeReport>): NodeReport => ({
    name: 'rpc.example',
    height: undefined,
    lastFailure: undefined,
    failingForMs: undefined,
    ...more,
  })
  const failure = { message: 'responded with HTTP status 503', agoMs: 1_000 }

  test.each<[string, Partial<NodeReport>, object]>([
    ['at the height of the highest', { height: 100n }, { state: 'ok', height: 100, lag: 0 }],
    ['20 blocks behind', { height: 80n }, { state: 'ok', lag: 20 }],
    ['21 blocks behind', { height: 79n }, { state: 'behind', lag: 21 }],
    [
      'without a height in time',
      {},
      { state: 'failing', height: null, lag: null, lastError: 'gave no height within a second', since: null },
    ],
    [
      'that failed and responds again',
      { height: 100n, lastFailure: failure },
      { state: 'ok', lastError: failure.message, lastErrorAt: '2026-01-15T11:59:59.000Z', since: null },
    ],
    [
      'that fails',
      { lastFailure: failure, failingForMs: 60_000 },
      { state: 'failing', lastError: failure.message, since: '2026-01-15T11:59:00.000Z' },
    ],
  ])('%s', (_, more, expected) => {
    expect(nodesOf([report({ height: 100n }), report(more)], at)[1]).toMatchObject({
      position: 2,
      ...expected,
    })
  })
})
