import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileStorage } from './file-storage.js'
import { guarantees } from './storage/testing/guarantees.js'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'wallet-files-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

test.each(guarantees)('$name', async ({ run, expected }) => {
  expect(await run(() => fileStorage(join(folder, 'new')))).toEqual(expected)
})
