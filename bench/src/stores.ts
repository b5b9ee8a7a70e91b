import { join } from 'node:path'
import { removePostgres, startPostgres, startRedis } from '@tollgate/devnet'
import { type BenchmarkContext } from './benchmark'

export type Postgres = Awaited<ReturnType<typeof startPostgres>>
export type Redis = NonNullable<Awaited<ReturnType<typeof startRedis>>>

type Place = Pick<BenchmarkContext, 'folder' | 'closeLater'>

/** A durable Postgres, as in production. Its data is removed, also if the benchmark is interrupted while it starts. */
export async function openPostgres({ folder, closeLater }: Place, name = 'postgres'): Promise<Postgres> {
  const home = join(folder, name)
  const starting = startPostgres({ folder: home })
  closeLater(async () => {
    await (await starting.catch(() => undefined))?.stop()
    removePostgres(home)
  })
  return starting
}

export async function openRedis({ folder, closeLater }: Place, name = 'redis'): Promise<Redis> {
  const starting = startRedis({ folder: join(folder, name) })
  closeLater(async () => (await starting.catch(() => undefined))?.stop())
  const redis = await starting
  if (!redis) throw new Error('redis-server is not on the PATH: install the Debian package redis-server')
  return redis
}

export async function openStores(place: Place): Promise<{ postgres: Postgres; redis: Redis }> {
  const [postgres, redis] = await Promise.all([openPostgres(place), openRedis(place)])
  return { postgres, redis }
}
