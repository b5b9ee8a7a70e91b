import { openGatewayDatabase } from '@tollgate/database'
import { closeAll, closeLater, migratedDatabase } from '@tollgate/testing'
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { root } from '../testing/world'
import { anchorsOf, linksOf } from './links'

const read = (path: string) => readFileSync(join(root, path), 'utf8')
const pages = execFileSync('git', ['ls-files', '*.md'], { cwd: root, encoding: 'utf8' }).trim().split('\n')
const ofOperators = [...pages.filter((path) => path.startsWith('docs/operate/')), 'docs/signers.md']

afterAll(closeAll)

test('every link between pages leads to a file, and to a heading that it has', () => {
  const broken = pages.flatMap((page) =>
    linksOf(read(page))
      .filter((link) => {
        const [path = '', anchor] = link.split('#')
        const target = path === '' ? page : join(dirname(page), path)
        if (!existsSync(join(root, target))) return true
        return anchor !== undefined && target.endsWith('.md') && !anchorsOf(read(target)).has(anchor)
      })
      .map((link) => `${page}: ${link}`),
  )
  expect(pages.length).toBeGreaterThan(50)
  expect(broken).toEqual([])
  expect(linksOf('`[x](no.md)` [a](b.md#c)\n```\n[y](no.md)\n```\n')).toEqual(['b.md#c'])
  expect([...anchorsOf('# A `b`: c?\n## [D](e.md)\n# A b c')]).toEqual(['a-b-c', 'd', 'a-b-c-1'])
})

describe('the SQL of the pages for operators', () => {
  const statements = ofOperators.flatMap((page) =>
    [...read(page).matchAll(/^ *```sql\n([^`]*)```/gm)].map(([, sql = '']) => [page, sql.trim()] as const),
  )
  test('is found', () => expect(statements.length).toBeGreaterThan(5))

  test('runs on a migrated database of one of the services', async () => {
    const pools = await Promise.all(
      (['gateway', 'facilitator'] as const).map(async (service) => {
        // The models of the client are the gateway's; its pool is of any database.
        const database = openGatewayDatabase({ url: await migratedDatabase(service), poolSize: 1 })
        closeLater(() => database.close())
        return database.pool
      }),
    )
    for (const [page, sql] of statements) {
      const filled = sql.replaceAll("'ID'", `'00000000-0000-0000-0000-000000000000'`)
      const outcomes = await Promise.all(pools.map((pool) => pool.query(filled).then(() => 'done', String)))
      expect({ page, sql, outcomes }).toMatchObject({
        outcomes: expect.arrayContaining(['done']) as string[],
      })
    }
  })
})
