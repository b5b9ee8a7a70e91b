import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { chartFiles, chartFolder } from './chart'

if (process.argv.includes('--help')) {
  process.stdout.write('Usage: node e2e/dist/deploy/write-chart.js\n\nWrites k8s/chart from k8s/base.\n')
} else {
  rmSync(chartFolder, { recursive: true, force: true })
  for (const [file, text] of Object.entries(chartFiles())) {
    mkdirSync(dirname(join(chartFolder, file)), { recursive: true })
    writeFileSync(join(chartFolder, file), text)
  }
}
