import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'

const root = join(__dirname, '../../..')
const page = readFileSync(join(root, 'docs/threats.md'), 'utf8')

const folders = [...page.matchAll(/`([a-z]+\/)`\s+is\s+`([^`]+\/)`/g)].map(([, name = '', folder = '']) => [
  name,
  folder,
])
const rowsOf = (text: string) =>
  text
    .split('\n')
    .filter((line) => line.startsWith('|') && !/^\|\s*((Threat|Lease)\s*\||-)/.test(line))
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    )
const [, leaseSection = ''] = /\n## Leases\n(.*?)\n## /s.exec(page) ?? []
const leases = rowsOf(leaseSection)
const rows = rowsOf(page.replace(leaseSection, ''))

const isFile = (path: string) => statSync(join(root, path), { throwIfNoEntry: false })?.isFile() === true

const testsIn = (cell = '') =>
  [...cell.matchAll(/`([^`]+)`/g)].map(([, path = '']) => {
    const [name, folder] = folders.find(([short = '-']) => path.startsWith(short)) ?? ['', '']
    return `${folder}${path.slice(name?.length)}`
  })

describe('docs/threats.md', () => {
  test('defines the abbreviations that it uses', () => expect(folders).toHaveLength(7))

  test.each(rows)('%s: has an outcome, and tests that there are', (...cells) => {
    const [, outcome, tests] = cells
    expect(cells).toHaveLength(3)
    expect(outcome).toMatch(/\w/)
    expect(testsIn(tests)).not.toEqual([])
    expect(testsIn(tests).filter((path) => !path.endsWith('.test.ts') || !isFile(path))).toEqual([])
  })

  test.each(leases)('lease: %s: has an end, a clock, an outcome, and tests that there are', (...cells) => {
    expect(cells).toHaveLength(5)
    for (const cell of cells) expect(cell).toMatch(/\w/)
    const tests = testsIn(cells[4])
    expect(tests).not.toEqual([])
    expect(tests.filter((path) => !path.endsWith('.test.ts') || !isFile(path))).toEqual([])
  })

  test('lists the leases', () => expect(leases.length).toBeGreaterThan(10))

  test('names every threats test', () => {
    const folder = 'apps/facilitator/src/payments/'
    const written = readdirSync(join(root, folder)).filter((name) => name.startsWith('threats-'))
    const named = rows.flatMap(([, , tests]) => testsIn(tests))
    expect(written.filter((name) => !named.includes(folder + name))).toEqual([])
    expect(rows.length).toBeGreaterThan(50)
  })
})
