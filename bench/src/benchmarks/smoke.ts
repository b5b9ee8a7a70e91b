import { join } from 'node:path'
import { removePostgres, startPostgres } from '@tollgate/devnet'
import { type Benchmark } from '../benchmark'
import { measureCpuRatio } from '../smoke/cpu-ratio'
import { SMOKE } from '../smoke/recorded-ratio'
import { openRedis } from '../stores'

export const smoke: Benchmark = {
  name: SMOKE,
  title: 'The paid path in npm test',
  async run(context) {
    const folder = join(context.folder, 'postgres')
    const starting = startPostgres({ folder, durable: false })
    context.closeLater(async () => {
      await (await starting.catch(() => undefined))?.stop()
      removePostgres(folder)
    })
    const [postgres, redis] = [await starting, await openRedis(context)]
    const { ratio, gateway, bare } = await measureCpuRatio(context, { postgres, redisUrl: redis.url })
    return {
      comparisons: [
        {
          measured: 'CPU of the bare proxy for a call, in short rounds on stores without durability',
          against: 'CPU of the gateway process for a paid call',
          ratio,
          reach: { atLeast: 0.05 },
          figures: {
            'smoke gateway CPU s per 1,000 calls': rounded(gateway),
            'smoke bare proxy CPU s per 1,000 calls': rounded(bare),
          },
          note: 'npm test fails when this ratio falls below 0.72 of the recorded one',
        },
      ],
      charts: [],
    }
  },
}

const rounded = (value: number) => Number(value.toPrecision(4))
