import { until } from './paying'
import { type World } from './world'

/** kill -9. Resolves when the next process serves; `meanwhile` runs before that one starts. */
export async function killGateway(
  { gateway }: World,
  meanwhile: () => Promise<unknown> = () => Promise.resolve(),
) {
  const pid = gateway.pid()
  process.kill(pid, 'SIGKILL')
  await meanwhile()
  await until(
    () => Promise.resolve(gateway.pid()),
    (now) => now !== pid,
  )
}
