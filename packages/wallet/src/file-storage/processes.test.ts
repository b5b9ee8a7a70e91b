import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileStorage } from '../file-storage.js'
import { bundleForNode } from '../testing/bundle.js'

const children: ChildProcess[] = []
let shared: string
let script: string
let folder: string

beforeAll(async () => {
  shared = mkdtempSync(join(tmpdir(), 'wallet-processes-'))
  chmodSync(shared, 0o755)
  script = await bundleForNode(join(__dirname, 'testing', 'commands.ts'), shared)
})
beforeEach(() => {
  folder = mkdtempSync(join(shared, 'folder-'))
})
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
})
afterAll(() => rmSync(shared, { recursive: true, force: true }))

function start(command: string, { path = folder, diskKilobytes = 0 } = {}) {
  const args = [script, command, path]
  const child = diskKilobytes
    ? spawn('unshare', [...inSmallDisk(path, diskKilobytes), process.execPath, ...args], {
        env: { ...process.env, STAY_ROOT: '1' },
      })
    : spawn(process.execPath, args)
  children.push(child)
  let errors = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text))
  const ended = once(child, 'close') as Promise<[number | null, string | null]>
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  return {
    pid: child.pid!,
    async line(): Promise<unknown> {
      const next = await lines.next()
      if (next.done) throw new Error(`${command} ended: ${errors}`)
      return JSON.parse(next.value)
    },
    go: () => child.stdin.write('go\n'),
    async kill() {
      child.kill('SIGKILL')
      await ended
    },
    async end() {
      const [code, signal] = await ended
      return signal ?? (code === 0 ? 0 : errors)
    },
  }
}

async function startHolder() {
  const holder = start('hold')
  expect([await holder.line(), await holder.line()]).toEqual(['waiting', 'held'])
  return holder
}

/** Arguments of `unshare` for a command that finds a disk of its own at `path`. */
function inSmallDisk(path: string, kilobytes: number) {
  const mount = `mount -t tmpfs -o size=${kilobytes}k none '${path}' && exec "$@"`
  return ['--map-root-user', '--mount', 'sh', '-c', mount, 'sh']
}

const canMount = spawnSync('unshare', [...inSmallDisk(tmpdir(), 64), 'true']).status === 0

test('of 20 processes that create 20 keys at once, one wins each, and its value stays', async () => {
  const processes = Array.from({ length: 20 }, () => start('create'))
  for (const each of processes) expect(await each.line()).toBe('ready')
  for (const each of processes) each.go()
  const results = (await Promise.all(processes.map((each) => each.line()))) as {
    pid: number
    won: string[]
  }[]
  const storage = fileStorage(folder)
  const keys = await storage.list('')
  expect(keys).toHaveLength(20)
  for (const key of keys) {
    const winners = results.filter(({ won }) => won.includes(key)).map(({ pid }) => `of ${pid}`)
    expect(winners).toEqual([await storage.get(key)])
  }
})

test('after kill -9 while it writes, each value is whole, and none is lost that was reported', async () => {
  const storage = fileStorage(folder)
  for (let kill = 1; kill <= 10; kill++) {
    const writer = start('write')
    let durable = 0
    while (durable < 20 * kill) durable = (await writer.line()) as number
    await writer.kill()

    const rounds = new Set<number>()
    for (const key of await storage.list(`created/${writer.pid}/`)) {
      const round = Number(key.split('/')[2])
      rounds.add(round)
      expect(await storage.get(key)).toBe(`${round} `.repeat(5000))
    }
    for (let round = 1; round <= durable; round++) expect(rounds).toContain(round)
    const last = (await storage.get('set'))!
    expect(parseInt(last)).toBeGreaterThanOrEqual(durable)
    expect(last).toBe(`${parseInt(last)} `.repeat(5000))
  }
})

test('temporary files of killed processes are deleted, and new ones are not', async () => {
  await fileStorage(folder).set('a', '1')
  const [abandoned, recent] = ['abandoned', 'recent'].map((name) => join(folder, 'temporary', name))
  for (const path of [abandoned, recent]) writeFileSync(path!, 'half')
  const elevenMinutesAgo = Date.now() / 1000 - 11 * 60
  utimesSync(abandoned!, elevenMinutesAgo, elevenMinutesAgo)
  await fileStorage(folder).set('a', '2')
  expect(readdirSync(join(folder, 'temporary'))).toEqual(['recent'])
})

test('20 processes that lock a name run one at a time', async () => {
  writeFileSync(join(folder, 'count'), '0')
  const processes = Array.from({ length: 20 }, () => start('count'))
  expect(await Promise.all(processes.map((each) => each.end()))).toEqual(Array(20).fill(0))
  expect(readFileSync(join(folder, 'count'), 'utf8')).toBe('100')
  expect(readdirSync(join(folder, 'locks'))).toEqual([])
})

test('the lock of a process that was killed goes to a waiting process, before it is stale', async () => {
  const holder = await startHolder()
  const storage = fileStorage(folder)
  expect(await storage.tryLock('name', () => Promise.resolve('mine'))).toBeUndefined()
  const waiters = [start('hold'), start('hold')]
  for (const each of waiters) expect(await each.line()).toBe('waiting')
  const first = Promise.race(waiters.map(async (waiter) => ({ waiter, line: await waiter.line() })))
  // It is not stale while the test runs, and its holder does not renew a lock that was changed.
  const inAnHour = Date.now() / 1000 + 3_600
  utimesSync(join(folder, 'locks', 'name.lock'), inAnHour, inAnHour)
  await holder.kill()
  const { waiter, line } = await first
  expect(line).toBe('held')
  expect(await storage.tryLock('name', () => Promise.resolve('mine'))).toBeUndefined()
  waiter.go()
  expect(await waiter.line()).toBe('released')
})

test('the lock of a killed process of another machine is free when it is stale', async () => {
  const holder = await startHolder()
  const owner = join(folder, 'locks', 'name.lock.owner')
  writeFileSync(owner, readFileSync(owner, 'utf8').replace(/\n.*/, '\nanother machine'))
  await holder.kill()
  const storage = fileStorage(folder)
  expect(await storage.tryLock('name', () => Promise.resolve('mine'))).toBeUndefined()
  expect(await storage.lock('name', () => Promise.resolve('mine'))).toBe('mine')
})

test('a process that lost its lock ends its task, and frees no lock of another', async () => {
  const loser = start('outliveLock')
  expect(await loser.line()).toBe('held')
  const path = join(folder, 'locks', 'name.lock')
  utimesSync(path, 1, 1)
  expect(await loser.line()).toBe('outlived')
  expect(await loser.end()).toBe(0)
  expect(statSync(path).isDirectory()).toBe(true)
})

test('a signal ends the waiting for another process', async () => {
  const holder = await startHolder()
  const controller = new AbortController()
  const storage = fileStorage(folder)
  const waiting = storage.lock('name', () => Promise.resolve('mine'), controller.signal)
  controller.abort(new Error('stopped'))
  await expect(waiting).rejects.toThrow('stopped')
  holder.go()
  expect(await holder.line()).toBe('released')
  expect(await storage.lock('name', () => Promise.resolve('mine'))).toBe('mine')
})

describe('says what is wrong, with the path and without the value', () => {
  const denied = 'this user may not read or write it. Change its permissions, or use another folder.'
  const failure = (path: string, reason: string) => ['STORAGE_FAILED', `Cannot use ${path}: ${reason}`]

  test('in a folder that this user may not open', async () => {
    await fileStorage(folder).set('key', 'secret')
    chmodSync(folder, 0)
    const results = await start('fail').line()
    chmodSync(folder, 0o700)
    const [key, created, values, lock] = [
      'values/key.value',
      'values/new.value',
      'values',
      'locks/name.lock',
    ].map((path) => failure(join(folder, path), denied))
    expect(results).toEqual({
      get: key,
      set: key,
      create: created,
      delete: key,
      list: values,
      lock,
      tryLock: lock,
      temporary: [],
    })
  })

  test('below a file', async () => {
    const path = join(folder, 'file')
    chmodSync(folder, 0o755)
    writeFileSync(path, '')
    const results = (await start('fail', { path }).line()) as Record<string, unknown>
    const reason = 'a part of its path is a file. Use another folder.'
    expect(results.set).toEqual(failure(join(path, 'values', 'key.value'), reason))
    expect(results.get).toEqual(failure(join(path, 'values', 'key.value'), reason))
    expect(results.list).toEqual(failure(join(path, 'values'), reason))
    expect(results.lock).toEqual(failure(join(path, 'locks', 'name.lock'), reason))
  })

  const onLinux = process.platform === 'linux' ? test : test.skip
  onLinux('where no folder can be made, as below /proc', async () => {
    const path = '/proc/tollgate-wallet/state'
    const results = (await start('fail', { path }).line()) as Record<string, unknown>
    const reason = 'a folder of it is missing, and was not made. Call again, or use another folder.'
    expect(results.set).toEqual(failure(join(path, 'values', 'key.value'), reason))
    expect(results.lock).toEqual(failure(join(path, 'locks', 'name.lock'), reason))
    expect(results.list).toEqual([])
  })

  const withSmallDisk = canMount ? test : test.skip
  withSmallDisk('on a full disk, and leaves nothing there (unshare may mount a small one)', async () => {
    const results = await start('fail', { diskKilobytes: 64 }).line()
    const reason = 'the disk is full. Free some space, and call again.'
    expect(results).toMatchObject({
      set: failure(join(folder, 'values', 'key.value'), reason),
      create: failure(join(folder, 'values', 'new.value'), reason),
      get: null,
      list: [],
      temporary: [],
    })
  })
})

test('only its owner reads the folder, also if it was open before', async () => {
  const path = join(folder, 'a', 'new')
  const before = process.umask(0)
  try {
    await fileStorage(path).set('key', 'secret')
    await fileStorage(path).create('created', 'secret')
    const mode = (name: string) => (statSync(join(path, name)).mode & 0o777).toString(8)
    expect(['', 'values', 'temporary', 'locks'].map(mode)).toEqual(['700', '700', '700', '700'])
    expect(['values/key.value', 'values/created.value'].map(mode)).toEqual(['600', '600'])
    chmodSync(join(path, 'values'), 0o755)
    await fileStorage(path).set('key', 'secret')
    expect(mode('values')).toBe('700')
  } finally {
    process.umask(before)
  }
})

test('a file that was damaged by hand is an error, and other files are no values', async () => {
  const storage = fileStorage(folder)
  await storage.set('key', 'secret')
  const path = join(folder, 'values', 'key.value')
  const damaged = `${path} is damaged: another program changed it. Restore it. If it is deleted, a payment in it may be made a second time.`
  for (const content of ['', 'secr', Buffer.from([0xff, 0x0a])]) {
    writeFileSync(path, content)
    await expect(storage.get('key')).rejects.toMatchObject({ code: 'STORAGE_FAILED', message: damaged })
  }
  for (const name of ['.key.value.swp', 'KEY.value', '%zz.value', 'key.value~', '%6b.value'])
    writeFileSync(join(folder, 'values', name), 'other\n')
  expect(await storage.list('')).toEqual(['key'])
  expect(await storage.create('key', 'new')).toBe(false)
  await storage.delete('key')
  expect(await storage.create('key', 'new')).toBe(true)
})

test('a folder that was deleted meanwhile is created again', async () => {
  const storage = fileStorage(folder)
  await storage.set('key', '1')
  rmSync(folder, { recursive: true })
  expect(await storage.get('key')).toBeUndefined()
  await expect(storage.set('key', '2')).rejects.toMatchObject({ code: 'STORAGE_FAILED' })
  await storage.set('key', '3')
  expect(await storage.get('key')).toBe('3')
  mkdirSync(join(folder, 'empty'))
})
