import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { chartFiles, chartFolder } from './chart'

test('k8s/chart is what node e2e/dist/deploy/write-chart.js writes', () => {
  const files = chartFiles()
  const onDisk = readdirSync(chartFolder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(chartFolder.length + 1))
  expect(onDisk.sort()).toEqual(Object.keys(files).sort())
  for (const [file, text] of Object.entries(files))
    expect([file, readFileSync(join(chartFolder, file), 'utf8')]).toEqual([file, text])
})

test('no placeholder is left', () => {
  expect(Object.values(chartFiles()).join('')).not.toMatch(/__[A-Z]\d+__/)
})
