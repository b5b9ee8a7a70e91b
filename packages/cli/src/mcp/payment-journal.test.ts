import { mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openLogFile } from './payment-journal'

const folder = mkdtempSync(join(tmpdir(), 'tollgate-mcp-'))
afterAll(() => rmSync(folder, { recursive: true }))

describe('openLogFile', () => {
  test('appends lines, which its owner alone may read, also to a file that others could read', () => {
    const path = join(folder, 'payments.log')
    writeFileSync(path, 'earlier\n', { mode: 0o644 })
    const file = openLogFile(path)
    file.append('one')
    file.append('two')
    file.close()
    expect(readFileSync(path, 'utf8')).toBe('earlier\none\ntwo\n')
    expect(statSync(path).mode & 0o777).toBe(0o600)
  })

  test('does not follow a link', () => {
    const path = join(folder, 'link')
    symlinkSync(join(folder, 'target'), path)
    expect(() => openLogFile(path)).toThrow('ELOOP')
  })
})
