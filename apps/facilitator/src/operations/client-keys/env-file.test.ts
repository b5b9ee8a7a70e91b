import {
  chmodSync,
  chownSync,
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { envFile } from './env-file'

const KEY = { id: 'client_new', token: 'n'.repeat(43) }
const OTHER = { id: 'client_other', token: 'o'.repeat(43) }
const linesOf = ({ id, token }: typeof KEY) =>
  `FACILITATOR_CLIENT_ID=${id}\nFACILITATOR_CLIENT_TOKEN=${token}\n`

const folder = mkdtempSync(join(tmpdir(), 'tollgate-env-file-'))
afterAll(() => rmSync(folder, { recursive: true }))
let files = 0
function fileWith(text: string): string {
  const own = join(folder, String(++files))
  mkdirSync(own)
  const path = join(own, '.env')
  writeFileSync(path, text)
  return path
}
const namesBeside = (path: string) => readdirSync(join(path, '..'))

test('two that read the file without a key write one: the second write changes nothing and leaves no file', async () => {
  const path = fileWith('A=1\n')
  const [one, two] = [await envFile(path).read(), await envFile(path).read()]
  expect([one.key, two.key]).toEqual([undefined, undefined])
  expect([await one.write(KEY), await two.write(OTHER)]).toEqual([true, false])
  expect(readFileSync(path, 'utf8')).toBe(`A=1\n${linesOf(KEY)}`)
  expect((await envFile(path).read()).key).toEqual(KEY)
  expect(namesBeside(path)).toEqual(['.env'])
})

test('the file is replaced as a whole: who has opened it before reads all of the old one', async () => {
  const path = fileWith(`A=1\n${linesOf(OTHER)}`)
  const opened = openSync(path, 'r')
  try {
    const { write } = await envFile(path).read()
    expect(await write(KEY)).toBe(true)
    expect(readFileSync(opened, 'utf8')).toBe(`A=1\n${linesOf(OTHER)}`)
    expect(readFileSync(path, 'utf8')).toBe(`A=1\n${linesOf(KEY)}`)
  } finally {
    closeSync(opened)
  }
})

test('of a variable that is there twice the last line counts, without its quotes, and every line is replaced', async () => {
  const path = fileWith(
    `${linesOf(OTHER)}FACILITATOR_CLIENT_ID='${KEY.id}'\nFACILITATOR_CLIENT_TOKEN="${KEY.token}"\n`,
  )
  const { key, write } = await envFile(path).read()
  expect(key).toEqual(KEY)
  expect(await write(OTHER)).toBe(true)
  expect(readFileSync(path, 'utf8')).toBe(linesOf(OTHER).repeat(2))
})

test('an error of the file system is a rejection with its code, which names the place', async () => {
  await expect(envFile(folder).read()).rejects.toThrow(`file ${folder} cannot be read and replaced: EISDIR`)
})

test('the mode stays, whatever the umask', async () => {
  const path = fileWith('A=1\n')
  chmodSync(path, 0o662)
  const { write } = await envFile(path).read()
  expect(await write(KEY)).toBe(true)
  expect(statSync(path).mode & 0o7777).toBe(0o662)
})

// Only root may give a file to another user.
const asRoot = process.geteuid?.() === 0 ? test : test.skip
const SERVICE = { uid: 10_001, gid: 10_002 }

asRoot('a file of another user stays that of its user and group', async () => {
  const path = fileWith('A=1\n')
  chmodSync(path, 0o640)
  chownSync(path, SERVICE.uid, SERVICE.gid)
  const { write } = await envFile(path).read()
  expect(await write(KEY)).toBe(true)
  expect(readFileSync(path, 'utf8')).toBe(`A=1\n${linesOf(KEY)}`)
  const { mode, ...owner } = statSync(path)
  expect({ ...owner, mode: mode & 0o7777 }).toMatchObject({ ...SERVICE, mode: 0o640 })
})

asRoot('a file whose owner cannot be kept is refused when it is read, and stays as it is', async () => {
  const path = fileWith('A=1\n')
  chmodSync(folder, 0o755)
  chmodSync(join(path, '..'), 0o777)
  chownSync(path, SERVICE.uid, SERVICE.gid)
  process.seteuid?.(20_001)
  try {
    await expect(envFile(path).read()).rejects.toThrow(
      `file ${path} belongs to user ${SERVICE.uid} and group ${SERVICE.gid}, to whom its replacement cannot be given`,
    )
  } finally {
    process.seteuid?.(0)
  }
  expect(readFileSync(path, 'utf8')).toBe('A=1\n')
  expect(namesBeside(path)).toEqual(['.env'])
})
