import { createLogger, createMetrics } from '@tollgate/service'
import { closeAll, readableLog } from '@tollgate/testing'
import { setTimeout as delay } from 'node:timers/promises'
import { newOperator, type Operator } from '../../testing/operator'
import { startAssetMonitor } from './suspended-assets'

let here: Operator
beforeAll(async () => (here = await newOperator()))
afterAll(closeAll)

const suspend = (network: string) =>
  here.pool.query(
    `UPDATE assets SET active = false, suspended_at = now(), suspension = E'it takes\\na fee' WHERE network = $1`,
    [network],
  )

test('the command line and the metrics show suspended assets', async () => {
  expect(await here.facilitator(['assets', 'suspended'])).toEqual({
    code: 0,
    out: 'no asset is suspended\n',
    err: '',
  })
  await suspend('base')
  const { out } = await here.facilitator(['assets', 'suspended'])
  expect(out).toMatch(/^NETWORK .*\nbase .* UTC {2}it takes a fee\n$/)
  const { out: json } = await here.facilitator(['assets', 'suspended', '--json'])
  expect(JSON.parse(json)).toMatchObject({ assets: [{ network: 'base', suspension: 'it takes\na fee' }] })

  const metrics = createMetrics()
  const logger = createLogger({ service: 'facilitator', level: 'info', stream: readableLog().stream })
  const monitor = startAssetMonitor({ pool: here.pool, metrics, logger, networks: ['base', 'base-sepolia'] })
  let scraped = ''
  while (!scraped.includes('tollgate_assets_suspended{network="base"} 1')) {
    await delay(20)
    scraped = await metrics.register.metrics()
  }
  expect(scraped).toContain('tollgate_assets_suspended{network="base-sepolia"} 0')
  await monitor.stop()
})

test.each([
  [['assets'], 'assets needs a verb'],
  [['assets', 'resume'], 'there is no "assets resume"'],
  [['assets', 'suspended', 'base'], 'did not understand "base"'],
])('rejects %j', async (args, reason) => {
  const { code, err } = await here.facilitator(args)
  expect([code, err]).toEqual([2, expect.stringContaining(reason) as string])
})

test('a suspended asset cannot be active', async () => {
  await suspend('base-sepolia')
  await expect(
    here.pool.query("UPDATE assets SET active = true WHERE network = 'base-sepolia'"),
  ).rejects.toThrow('assets_suspended_check')
})
