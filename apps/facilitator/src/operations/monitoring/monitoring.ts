import { type Pool } from '@tollgate/database'
import { type Logger, type Metrics } from '@tollgate/service'
import { startSettlementMonitor } from './settlement-monitor'
import { startAssetMonitor } from './suspended-assets'
import { startSignerMonitor } from './signer-monitor'
import { type MonitoredSigner } from './monitored-signer'

export function createMonitoring(parts: {
  pool: Pool
  metrics: Metrics
  logger: Logger
  signers: readonly MonitoredSigner[]
  now: () => Date
}) {
  const networks = [...new Set(parts.signers.map(({ network }) => network.name))]
  let monitors: readonly { stop: () => Promise<void> }[] = []
  return {
    begin() {
      monitors = [
        startSettlementMonitor(parts),
        startSignerMonitor(parts),
        startAssetMonitor({ ...parts, networks }),
      ]
    },
    async close() {
      await Promise.all(monitors.map((monitor) => monitor.stop()))
    },
  }
}
