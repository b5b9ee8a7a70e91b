import { createProcessGroup, openState, removePostgres, startDevnet, type Overrides } from '@tollgate/devnet'
import { join } from 'node:path'
import { type BenchmarkContext } from './benchmark'
import { root } from './machine'

export type World = Awaited<ReturnType<typeof openWorld>>

/** Both services as processes on new chains and stores, as `npm start` has them. */
export async function openWorld(
  { folder, closeLater }: Pick<BenchmarkContext, 'folder' | 'closeLater'>,
  overrides: Overrides = {},
) {
  const place = join(folder, 'world')
  const processes = createProcessGroup()
  const starting = startDevnet({ root, state: openState(place), processes, usualPorts: false, overrides })
  closeLater(async () => {
    await processes.stop()
    // What is still starting stops, too.
    await starting.catch(() => undefined)
    removePostgres(join(place, 'postgres'))
  })
  return starting
}
