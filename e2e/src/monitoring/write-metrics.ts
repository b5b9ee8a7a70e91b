import { writeFileSync } from 'node:fs'
import { startWorld } from '../testing/world'
import { exercise } from './exercised-world'
import { documentFile, metricsDocument } from './metrics-document'

/** `node e2e/dist/monitoring/write-metrics.js`: writes the tables of docs/metrics.md from what the running services export. */
async function main() {
  const world = await startWorld()
  try {
    const { gateway, facilitator } = await exercise(world)
    writeFileSync(documentFile, metricsDocument(gateway, facilitator))
  } finally {
    await world.stop()
  }
}

void main()
