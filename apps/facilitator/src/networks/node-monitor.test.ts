import { StatusReport } from '@tollgate/protocol'
import { closeAll, readableLog } from '@tollgate/testing'
import { setTimeout as delay } from 'node:timers/promises'
import { callRpc } from '../testing/chain'
import { cosmosNetwork, newCosmosWallet, ownCosmosChain } from '../testing/cosmos'
import { testFacilitator, type Api } from '../testing/facilitator'
import { startOddNode } from '../testing/failing-node'

afterAll(closeAll)

const LACKS = 'cannot simulate transactions: turn its gRPC or its REST server on'

async function onCosmos(nodes: (rpcUrl: string) => Promise<string[]>) {
  const { rpcUrl } = await ownCosmosChain()
  const log = readableLog()
  const network = cosmosNetwork(rpcUrl, await newCosmosWallet(rpcUrl, 1_000_000n))
  return {
    rpcUrl,
    log,
    begin: async () =>
      testFacilitator({ networks: [{ ...network, rpcUrls: await nodes(rpcUrl) }], log: log.stream }),
  }
}

async function cosmosStatus(api: Api) {
  const { data } = StatusReport.parse((await api.get('/api/v1/status').expect(200)).body)
  return { overall: data.status, network: data.networks[1] }
}

const kinds = async (api: Api) => {
  const { kinds } = (await api.get('/api/v1/networks').expect(200)).body as { kinds: { network: string }[] }
  return kinds.map(({ network }) => network)
}

test.concurrent('a node without Simulate is in the log and the status, and its network is not offered until it has it', async () => {
  const on = await onCosmos((rpcUrl) => Promise.resolve([rpcUrl]))
  await callRpc(on.rpcUrl, 'dev_setServices', false)
  const { api } = await on.begin()

  const { overall, network } = await cosmosStatus(api)
  expect(overall).toBe('degraded')
  expect(network).toMatchObject({ status: 'unusable', problem: `node 1 ${LACKS}` })
  expect(await kinds(api)).toEqual(['base-sepolia'])
  const named = on.log.lines().filter(({ message }) => message === 'network nodes incomplete')
  expect(named).toEqual([
    expect.objectContaining({ level: 'error', network: network?.network, problems: [`node 1 ${LACKS}`] }),
  ])

  await callRpc(on.rpcUrl, 'dev_setServices', true)
  const deadline = performance.now() + 40_000
  while ((await cosmosStatus(api)).network?.status !== 'active') {
    if (performance.now() > deadline) throw new Error('the network stays unusable')
    await delay(100)
  }
  const back = await cosmosStatus(api)
  expect([back.overall, back.network?.problem]).toEqual(['ok', undefined])
  expect(await kinds(api)).toHaveLength(2)
})

test.concurrent('a second node without Simulate is in the log, and the network uses the first', async () => {
  const on = await onCosmos(async (rpcUrl) => [
    rpcUrl,
    await startOddNode(rpcUrl, {
      abci_query: async ({ path = '' }, forward) =>
        path.endsWith('/Simulate')
          ? {
              result: { response: { code: 6, codespace: 'sdk', log: 'unknown query path: unknown request' } },
            }
          : forward(),
    }),
  ])
  const { api } = await on.begin()
  const { overall, network } = await cosmosStatus(api)
  expect([overall, network?.status, network?.problem]).toEqual(['ok', 'active', `node 2 ${LACKS}`])
  expect(await kinds(api)).toHaveLength(2)
  const one = (await api.get(`/api/v1/networks/${network?.network}`).expect(200)).body as object
  expect(one).not.toHaveProperty('problem')
})
