import { until } from './paying'
import { type World } from './world'

/** kill -9. Resolves when the next process serves; `meanwhile` runs before that one starts. */
export const killGateway = ({ gateway }: World, meanwhile?: () => Promise<unknown>) =>
  killService(gateway, meanwhile)

export async function killService(
  service: World['gateway'],
  meanwhile: () => Promise<unknown> = () => Promise.resolve(),
) {
  const pid = service.pid()
  process.kill(pid, 'SIGKILL')
  await meanwhile()
  await until(
    () => Promise.resolve(service.pid()),
    (now) => now !== pid,
  )
}
