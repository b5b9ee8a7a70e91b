import { startAnvil, USDC_ADDRESS } from '@tollgate/devnet'
import { type AssetList, type SettleResult, StatusReport, SupportedKinds } from '@tollgate/protocol'
import { closeAll, closeLater } from '@tollgate/testing'
import { getAddress } from 'ethers'
import { callRpc, newPayer, ownChain } from '../testing/chain'
import { newClient, testFacilitator, type Api, type TestFacilitator } from '../testing/facilitator'
import { startLyingNode } from '../testing/failing-node'
import { outcomeOf } from '../testing/outcome'
import { paymentRequest } from '../testing/payment'

let rpcUrl: string
let facilitator: TestFacilitator
let api: TestFacilitator['api']
let feePayer: string

beforeAll(async () => {
  rpcUrl = (await ownChain()).rpcUrl
  facilitator = await testFacilitator({ rpcUrl })
  feePayer = facilitator.signers[0]!.address
  api = facilitator.api
})
afterAll(closeAll)

const kindsAt = async (of: Api, path: string, headers = {}) =>
  ((await of.get(path).set(headers).expect(200)).body as SupportedKinds).kinds

async function within(ms: number, holds: () => Promise<unknown>) {
  for (const until = Date.now() + ms; ;)
    try {
      return await holds()
    } catch (error) {
      if (Date.now() > until) throw error
    }
}

const kind = () => ({
  x402Version: 1,
  scheme: 'exact',
  network: 'base-sepolia',
  status: 'active',
  block: expect.any(Number) as number,
  feePayer,
})

describe('GET /networks', () => {
  test('returns the newest block within seconds', async () => {
    const mined = async () => Number(await callRpc(rpcUrl, 'eth_blockNumber'))
    const block = async () =>
      ((await api.get('/api/v1/networks/base-sepolia').expect(200)).body as { block: number }).block
    await block()
    await callRpc(rpcUrl, 'anvil_mine', '0x64')
    const height = await mined()
    const startedAt = performance.now()
    while ((await block()) < height);
    expect(performance.now() - startedAt).toBeLessThan(5_000)
  })
})

describe('GET /networks/:id', () => {
  test('adds extra', async () => {
    for (const id of ['base-sepolia', '84532', 'eip155:84532'])
      expect((await api.get(`/api/v1/networks/${id}`).expect(200)).body).toEqual({
        ...kind(),
        extra: { feePayer },
      })
  })

  test('is 400 INVALID_REQUEST for an invalid percent-encoding', async () => {
    for (const id of ['%', '%zz', '%C3%28', 'base-sepolia%f'])
      expect(outcomeOf(await api.get(`/api/v1/networks/${id}`))).toEqual([400, 'INVALID_REQUEST'])
  })

  test('is 400 INVALID_REQUEST for an unknown network', async () => {
    const odd = [
      '%00',
      'x%00',
      '%E2%82%AC',
      '__proto__',
      'constructor',
      'Base-Sepolia',
      '0x14a34',
      'a'.repeat(10_000),
    ]
    const almost = [
      'base-sepolia%20',
      '%2Fbase-sepolia',
      '084532',
      'eip155%3A1',
      'cosmos:84532',
      '84532.0',
      '..%2f',
    ]
    for (const id of ['base', ...odd, ...almost]) {
      const answer = await api.get(`/api/v1/networks/${id}`)
      expect(answer.status).toBe(400)
      expect(answer.body).toMatchObject({
        code: 'INVALID_REQUEST',
        message: expect.stringMatching(/unsupported/i) as string,
      })
    }
  })
})

describe('GET /assets', () => {
  test("lists the configured asset with its contract's name and version", async () => {
    const answer = await api.get('/api/v1/assets').expect(200)
    const usdc = { network: 'base-sepolia', asset: USDC_ADDRESS, symbol: 'USDC', decimals: 6, active: true }
    expect(answer.body).toEqual({ data: [{ id: expect.any(Number) as number, ...usdc }] })
    expect(await facilitator.database.prisma.asset.findMany()).toMatchObject([
      { ...usdc, name: 'USDC', version: '2' },
    ])
  })
})

test('GET /assets omits assets of networks that are no longer configured', async () => {
  const gone = { network: 'gone', asset: USDC_ADDRESS, symbol: 'USDC', decimals: 6, active: true }
  const { id } = await facilitator.database.prisma.asset.create({ data: gone })
  const { data } = (await api.get('/api/v1/assets').expect(200)).body as AssetList
  expect(data.map(({ network }) => network)).toEqual(['base-sepolia'])
  await facilitator.database.prisma.asset.delete({ where: { id } })
})

describe('the fee payer', () => {
  test('is the signer that settles', async () => {
    const body = await paymentRequest(await newPayer(rpcUrl))
    const client = await newClient(api)
    const settled = await api.post('/api/v1/settle').set(client).send(body).expect(200)
    const { success, transaction } = settled.body as SettleResult
    const sent = (await callRpc(rpcUrl, 'eth_getTransactionByHash', transaction)) as { from: string }
    const [kind] = await kindsAt(api, '/api/v1/networks')
    expect([success, getAddress(sent.from)]).toEqual([true, kind?.feePayer])
  })
})

describe('an unavailable network', () => {
  test.each(['stops', 'hangs'])(
    'and %s is no longer offered within seconds, and offered again once it is available',
    async (how) => {
      const chain = await startAnvil()
      closeLater(() => chain.stop())
      const { api } = await testFacilitator({ rpcUrl: chain.rpcUrl })
      const client = await newClient(api)
      const offers = async () => [
        await kindsAt(api, '/api/v1/networks'),
        await kindsAt(api, '/api/v1/supported', client),
      ]
      expect(await offers()).toMatchObject([[{ status: 'active' }], [{ status: 'active' }]])

      if (how === 'stops') await chain.stop()
      else process.kill(chain.pid, 'SIGSTOP')
      await within(10_000, async () => expect(await offers()).toEqual([[], []]))
      for (const id of ['base-sepolia', '84532', 'eip155:84532']) {
        const answer = await api.get(`/api/v1/networks/${id}`)
        expect(outcomeOf(answer)).toEqual([503, 'UNAVAILABLE'])
        expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0)
      }

      if (how === 'stops') {
        const again = await startAnvil({ port: Number(new URL(chain.rpcUrl).port) })
        closeLater(() => again.stop())
        expect(again.rpcUrl).toBe(chain.rpcUrl)
      } else process.kill(chain.pid, 'SIGCONT')
      await within(10_000, async () =>
        expect(await offers()).toMatchObject([[{ status: 'active' }], [{ status: 'active' }]]),
      )
      await api.get('/api/v1/networks/base-sepolia').expect(200)
    },
  )

  test('does not affect the others', async () => {
    const other = { name: 'other', chainId: '1', rpcUrls: ['http://127.0.0.1:9'] }
    const { api } = await testFacilitator({ rpcUrl, networks: [other] })
    expect(await kindsAt(api, '/api/v1/networks')).toMatchObject([{ network: 'base-sepolia' }])
    await api.get('/api/v1/networks/other').expect(503)
  })

  test.each([
    { number: `0x${'f'.repeat(20)}` },
    { number: '0x20000000000000' },
    { timestamp: `0x${'f'.repeat(64)}` },
  ])('to make sense, as with the block %j, leaves lists that clients can read', async (odd) => {
    const node = await startLyingNode(rpcUrl, {
      eth_chainId: () => '0x1',
      eth_getBlockByNumber: (block) => ({ ...(block as object), ...odd }),
    })
    const networks = [{ name: 'other', chainId: '1', rpcUrls: [node] }]
    const { api } = await testFacilitator({ rpcUrl, networks })
    const offered = await api.get('/api/v1/networks').expect(200)
    expect(SupportedKinds.parse(offered.body).kinds).toMatchObject([{ network: 'base-sepolia' }])
    await api.get('/api/v1/networks/other').expect(503)
    const status = await api.get('/api/v1/status').expect(200)
    expect(StatusReport.parse(status.body).data.networks).toMatchObject([
      { status: 'active' },
      { network: 'other', status: 'unreachable', block: 0 },
    ])
  })

  test('with another chain than configured is not offered', async () => {
    const other = { name: 'other', chainId: '1' }
    const { api } = await testFacilitator({ rpcUrl, networks: [other] })
    expect(await kindsAt(api, '/api/v1/networks')).toMatchObject([{ network: 'base-sepolia' }])
  })
})

test('GET /health returns the status, the start time in Unix seconds, and the version', async () => {
  const { body } = (await api.get('/health').expect(200)) as { body: { timestamp: number } }
  expect(body).toEqual({
    status: 'ok',
    timestamp: expect.any(Number) as number,
    version: expect.stringMatching(/^\d+\.\d+\.\d+$/) as string,
  })
  expect(Number.isInteger(body.timestamp)).toBe(true)
  await api.get('/ready').expect(200)
})
