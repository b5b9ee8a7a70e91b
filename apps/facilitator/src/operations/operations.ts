import { type Pool } from '@tollgate/database'
import { type Logger, type Metrics } from '@tollgate/service'
import { startSettlementWatch } from './settlement-watch'
import { startAssetWatch } from './suspended-assets'
import { startSignerWatch } from './signer-watch'
import { type WatchedSigner } from './watched-signer'

/** What operators are told of settlements and signers, from `begin` on, by metrics and log. */
export function createOperations(parts: {
  pool: Pool
  metrics: Metrics
  logger: Logger
  signers: readonly WatchedSigner[]
  now: () => Date
}) {
  const networks = [...new Set(parts.signers.map(({ network }) => network.name))]
  let watches: readonly { stop: () => Promise<void> }[] = []
  return {
    begin() {
      watches = [
        startSettlementWatch(parts),
        startSignerWatch(parts),
        startAssetWatch({ ...parts, networks }),
      ]
    },
    async close() {
      await Promise.all(watches.map((watch) => watch.stop()))
    },
  }
}
