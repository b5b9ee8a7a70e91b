import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../machine'
import { readRows } from '../report'
import { sampleRows } from './sample'
import { computeBlocks } from './tables'
import { replaceBlocks } from './write'

const page = readFileSync(join(root, 'docs/scaling.md'), 'utf8')

test('docs/scaling.md is unchanged since `pnpm bench` computed it', () => {
  expect(replaceBlocks(page, computeBlocks(readRows(join(root, 'docs'))))).toBe(page)
})

test('computes every table of the page from the figures', () => {
  const blocks = computeBlocks(sampleRows)
  expect(Object.values(blocks).filter((block) => !block.startsWith('| '))).toEqual([])
  expect(blocks['measured']).toMatch(/\| Gateway +\| 0\.35 CPU s +\|/)
  expect(blocks['needs']).toMatch(/\| Gateway processes +\| 1 +\| 59 +\| 584 +\|/)
  expect(blocks['check']).toMatch(/\| 1 gateway +\| 2,600 +\| 2,857 +\| \+10 % +\|/)
  expect(blocks['check']).toMatch(/\| 2 gateways +\| 3,300 +\| 3,448 +\| \+4 % +\|/)
  expect(replaceBlocks(page, blocks)).toContain(blocks['needs'])
})

test('names the benchmark to run, and each figure that is missing', () => {
  const [paid] = sampleRows
  const blocks = computeBlocks(paid ? [paid] : [])
  expect(blocks['needs']).toMatch(/^\| /)
  expect(blocks['check']).toMatch(/^Not computed: run `pnpm bench replicas`.*"two gateways calls\/s"/)
  const empty = computeBlocks([])
  expect(empty['cost']).toMatch(/^Not computed: run `pnpm bench paid-calls`.*"tollgate WAL bytes per call"/)
  expect(empty['inputs']).toMatch(/^\| /)
})

test('refuses a page whose blocks are not those of the model', () => {
  expect(() => replaceBlocks('<!-- computed: other -->\n<!-- end -->', { needs: '' })).toThrow('other, needs')
})
