import { randomUUID } from 'node:crypto'
import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isAlive } from '@tollgate/processes'
import { startRedis } from './redis'

const folder = join(tmpdir(), `tollgate-redis-${randomUUID()}`)
beforeAll(() => mkdirSync(folder))
const path = process.env['PATH']
afterAll(() => {
  process.env['PATH'] = path
  rmSync(folder, { recursive: true })
})

const installed = process.env['TEST_REDIS_URL'] ? test : test.skip

async function command(port: number, line: string) {
  const socket = connect(port, '127.0.0.1')
  socket.write(`${line}\r\n`)
  const [answer] = (await once(socket, 'data')) as [Buffer]
  socket.destroy()
  return answer.toString().trim()
}

describe('startRedis', () => {
  installed('answers on 127.0.0.1, keeps nothing on disk and leaves nothing running', async () => {
    const redis = await startRedis({ folder })
    if (!redis) throw new Error('there is a redis-server on the PATH')
    expect(await command(redis.port, 'SET nonce 1 EX 60 NX')).toBe('+OK')

    await redis.stop()

    expect(isAlive(redis.pid)).toBe(false)
    expect(readdirSync(folder)).toEqual(['redis.log'])
  })

  test('answers undefined where there is no redis-server on the PATH', async () => {
    process.env['PATH'] = folder

    expect(await startRedis({ folder })).toBeUndefined()
  })
})
