import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'

const bench = join(__dirname, '../../../bench')
const scripts = readdirSync(bench, { recursive: true, encoding: 'utf8' }).filter((name) =>
  name.endsWith('.mjs'),
)

/** What a build makes stands beside its source. */
const sourceOf = (path: string) => path.replace('/dist/', '/src/').replace(/(\/src\/.*)\.js$/, '$1.ts')

test.each(scripts)('bench/%s imports files that exist', (name) => {
  const script = join(bench, name)
  const imported = [...readFileSync(script, 'utf8').matchAll(/(?:from |import\()'(\.[^']+)'/g)].map(
    ([, path = '']) => sourceOf(resolve(dirname(script), path)),
  )
  expect(imported.filter((path) => !existsSync(path))).toEqual([])
})
