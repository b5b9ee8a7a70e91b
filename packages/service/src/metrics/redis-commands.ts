import type Redis from 'ioredis'
import { type Metrics } from './metrics'

const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5]

/** Measures each command of a client, also those of scripts. */
export function exportRedis(metrics: Metrics, redis: Redis) {
  metrics.gauge({
    name: 'tollgate_redis_up',
    help: '1 if this process is connected to Redis, else 0',
    collect() {
      this.set(redis.status === 'ready' ? 1 : 0)
    },
  })
  const duration = metrics
    .histogram({
      name: 'tollgate_redis_command_duration_seconds',
      help: 'Time from a command to the reply of Redis',
      buckets: SECONDS,
    })
    .series({})
  const errors = metrics
    .counter({
      name: 'tollgate_redis_command_errors_total',
      help: 'Commands that Redis did not answer, or refused; a script that it did not know yet counts once',
    })
    .series({})

  const send = redis.sendCommand.bind(redis)
  redis.sendCommand = (command, stream) => {
    const startedAt = performance.now()
    const reply = send(command, stream)
    command.promise.then(
      () => duration.observe((performance.now() - startedAt) / 1000),
      () => errors.inc(),
    )
    return reply
  }
}
