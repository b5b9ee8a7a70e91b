import { startAnvil } from '@tollgate/devnet'
import { StatusReport, type SystemStatus } from '@tollgate/protocol'
import { closeAll, closeLater, migratedDatabase } from '@tollgate/testing'
import { newSigner, ownChain } from '../testing/chain'
import { testFacilitator, type Api } from '../testing/facilitator'
import { startTcpProxy } from '../testing/tcp-proxy'

afterAll(closeAll)

async function statusOf(api: Api): Promise<SystemStatus> {
  const answer = await api.get('/api/v1/status').expect(200)
  return StatusReport.parse(answer.body).data
}

async function statusBecomes(api: Api, isRight: (status: SystemStatus) => boolean): Promise<SystemStatus> {
  const until = Date.now() + 20_000
  for (;;) {
    const status = await inTime(() => statusOf(api))
    if (isRight(status)) return status
    if (Date.now() > until) throw new Error(`the status stays ${JSON.stringify(status)}`)
  }
}

async function inTime<T>(work: () => Promise<T>): Promise<T> {
  const startedAt = performance.now()
  const result = await work()
  expect(performance.now() - startedAt).toBeLessThan(10_000)
  return result
}

describe('GET /api/v1/status', () => {
  test.concurrent('returns the version, the uptime in seconds, and the status of database and networks', async () => {
    const { rpcUrl } = await ownChain()
    const { api, signers } = await testFacilitator({ rpcUrl })
    const status = await statusOf(api)
    expect(status).toEqual({
      status: 'ok',
      version: expect.stringMatching(/^\d+\.\d+\.\d+$/) as string,
      uptime: expect.any(Number) as number,
      networks: [
        {
          x402Version: 1,
          scheme: 'exact',
          network: 'base-sepolia',
          status: 'active',
          block: expect.any(Number) as number,
          feePayer: signers[0]!.address,
        },
      ],
      database: { status: 'ok' },
    })
    expect(status.uptime).toBeLessThanOrEqual(process.uptime())
    expect(status.uptime).toBeGreaterThan(process.uptime() - 10)
  })

  test.concurrent('returns the unreachable network with its last known block, 0 if none', async () => {
    const chain = await ownChain()
    const signer = await newSigner(chain.rpcUrl)
    const signerKeys = [signer.privateKey]
    const never = { name: 'never', chainId: '1', rpcUrls: ['http://127.0.0.1:9'], signerKeys }
    const { api } = await testFacilitator({ rpcUrl: chain.rpcUrl, signerKeys, networks: [never] })
    const [active] = (await statusOf(api)).networks
    expect(active).toMatchObject({ network: 'base-sepolia', status: 'active' })
    await chain.stop()

    const status = await statusBecomes(api, ({ networks }) => networks[0]?.status === 'unreachable')
    expect(status).toMatchObject({
      status: 'degraded',
      database: { status: 'ok' },
      networks: [
        { network: 'base-sepolia', status: 'unreachable', feePayer: signer.address },
        { network: 'never', status: 'unreachable', block: 0, feePayer: signer.address },
      ],
    })
    expect(status.networks[0]?.block).toBeGreaterThanOrEqual(active?.block ?? 1)
    expect(status.networks[0]?.block).toBeGreaterThan(0)
  })

  test.concurrent('responds in time, and never 5xx, while the database hangs, is down, and is available again', async () => {
    const proxy = await startTcpProxy(await migratedDatabase('facilitator'))
    const { rpcUrl } = await ownChain()
    const { api } = await testFacilitator({ rpcUrl, databaseUrl: proxy.url })
    const databaseIs = (word: string) => (status: SystemStatus) => status.database.status === word

    for (const fault of ['silent', 'shut'] as const) {
      proxy.become(fault)
      const down = await statusBecomes(api, databaseIs('unreachable'))
      expect(down).toMatchObject({ status: 'degraded', networks: [{ status: 'active' }] })
      await inTime(() => statusOf(api))

      proxy.become('open')
      expect(await statusBecomes(api, databaseIs('ok'))).toMatchObject({ status: 'ok' })
    }
  })

  test.concurrent('responds in time while a chain hangs, also to many concurrent requests', async () => {
    const chain = await startAnvil()
    closeLater(() => chain.stop())
    // This chain's timeout exceeds the maximum duration of the status.
    const networks = [{ name: 'patient', rpcTimeoutMs: 50_000 }]
    const { api } = await testFacilitator({ rpcUrl: chain.rpcUrl, networks })
    process.kill(chain.pid, 'SIGSTOP')
    try {
      await statusBecomes(api, (status) => status.networks.every(({ status }) => status === 'unreachable'))
      const many = await inTime(() => Promise.all(Array.from({ length: 20 }, () => statusOf(api))))
      for (const status of many)
        expect(status).toMatchObject({ status: 'degraded', database: { status: 'ok' } })
    } finally {
      process.kill(chain.pid, 'SIGCONT')
    }
    await statusBecomes(api, ({ networks }) => networks[0]?.status === 'active')
  })
})
