import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { closeAll, closeLater, migratedDatabase } from '@tollgate/testing'
import { measureCpuRatio } from './cpu-ratio'
import { lowestRatio, recordedRatio } from './recorded-ratio'

const TIMEOUT_MS = 180_000

afterAll(closeAll, TIMEOUT_MS)

test(
  'a paid call costs hardly more CPU than recorded, in proportion to a call of the bare proxy',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'tollgate-smoke-'))
    closeLater(() => rmSync(folder, { recursive: true, force: true }))
    const place = { folder, closeLater, progress: () => undefined }
    const stores = {
      postgres: { createDatabase: () => migratedDatabase('gateway') },
      redisUrl: process.env['TEST_REDIS_URL'],
    }

    const { ratio } = await measureCpuRatio(place, stores)

    expect(ratio).toBeGreaterThan(lowestRatio(recordedRatio()))
  },
  TIMEOUT_MS,
)
