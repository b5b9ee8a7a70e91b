import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root } from '../testing/world'

const page = readFileSync(join(root, 'docs/operate/rotate.md'), 'utf8')
const folder = mkdtempSync(join(tmpdir(), 'tollgate-rotate-'))
afterAll(() => rmSync(folder, { recursive: true }))

const waits = [...page.matchAll(/rollout status deployment\/gateway\n( *until old=[^`]*?done)\n/g)].map(
  ([, command = '']) => command,
)

test('every rollout of the page waits for the pods that are terminating, before a key is deleted', () => {
  expect(waits).toHaveLength(page.match(/^ *kubectl .* rollout status /gm)?.length ?? 0)
  expect(waits.length).toBeGreaterThan(1)
  expect(page.indexOf('clients delete OLD_ID')).toBeGreaterThan(page.lastIndexOf('until old='))
})

/** There is no cluster in the tests: a program in its place says what kubectl prints for the pods. */
test.each([...new Set(waits)])(
  'the command waits until none is left, also when it cannot ask: %j',
  (command) => {
    const asked = join(folder, 'asked')
    const program = (name: string, text: string) =>
      writeFileSync(join(folder, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 })
    program(
      'kubectl',
      `printf '%s\\n' "$*" >> ${asked}
case $(wc -l < ${asked}) in
  1) echo 2026-11-26T10:00:00Z 2026-11-26T10:00:01Z ;;
  2) exit 1 ;;
  3) echo 2026-11-26T10:00:01Z ;;
esac`,
    )
    program('sleep', ':')
    writeFileSync(asked, '')
    const PATH = `${folder}:${process.env['PATH'] ?? ''}`
    execFileSync('sh', ['-euc', command], { env: { PATH }, timeout: 20_000 })
    const [first, ...more] = readFileSync(asked, 'utf8').trim().split('\n')
    expect(more).toHaveLength(3)
    expect(first).toContain('-l app.kubernetes.io/name=gateway')
  },
)
