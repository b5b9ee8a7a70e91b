/** A process that uses a folder as the tests of `fileStorage` say: `node commands.cjs COMMAND FOLDER`. */
import { once } from 'node:events'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { isTollgateError } from '../../errors.js'
import { fileStorage } from '../../file-storage.js'
import { type WalletStorage } from '../../storage/storage.js'
import { heldFolders } from '../folder-lock.js'

const print = (value: unknown) =>
  new Promise<void>((resolve) => process.stdout.write(`${JSON.stringify(value)}\n`, () => resolve()))

const commands: Record<string, (storage: WalletStorage, folder: string) => Promise<unknown>> = {
  /** The keys that it created, of those that others create at the same time. */
  async create(storage) {
    await print('ready')
    await once(process.stdin, 'data')
    const won: string[] = []
    for (let key = 0; key < 20; key++)
      if (await storage.create(`race/${key}`, `of ${process.pid}`)) won.push(`race/${key}`)
    return { pid: process.pid, won }
  },

  /** Writes until it is killed; prints what is durable. */
  async write(storage) {
    for (let round = 1; ; round++) {
      const value = `${round} `.repeat(5000)
      await storage.set('set', value)
      await storage.create(`created/${process.pid}/${round}`, value)
      await print(round)
    }
  },

  async hold(storage) {
    await print('waiting')
    return storage.lock('name', async () => {
      await print('held')
      await once(process.stdin, 'data')
      return 'released'
    })
  },

  async count(storage, folder) {
    const file = join(folder, 'count')
    for (let round = 0; round < 5; round++)
      await storage.lock('count', async () => {
        const count = Number(await readFile(file, 'utf8'))
        await writeFile(file, String(count + 1))
      })
  },

  /** Ends after it noticed that its lock was taken away. */
  outliveLock: (storage) =>
    storage.lock('name', async () => {
      await print('held')
      while (heldFolders.size > 0) await setTimeout(20)
      return 'outlived'
    }),

  /** The failure of each method; for a user that is not root, whom no permission stops. */
  async fail(storage, folder) {
    if (process.getuid?.() === 0 && !process.env.STAY_ROOT) {
      process.setgid?.(65534)
      process.setuid?.(65534)
    }
    const nothing = () => Promise.resolve()
    const work = {
      get: () => storage.get('key'),
      set: () => storage.set('key', `secret ${'x'.repeat(100_000)}`),
      create: () => storage.create('new', `secret ${'x'.repeat(100_000)}`),
      delete: () => storage.delete('key'),
      list: () => storage.list(''),
      lock: () => storage.lock('name', nothing),
      tryLock: () => storage.tryLock('name', nothing),
    }
    const results: Record<string, unknown> = {}
    for (const [name, run] of Object.entries(work))
      results[name] = await run().then(
        (result) => result ?? null,
        (error: unknown) => (isTollgateError(error) ? [error.code, error.message] : String(error)),
      )
    return { ...results, temporary: await readdir(join(folder, 'temporary')).catch(() => []) }
  },
}

const [command = '', folder = ''] = process.argv.slice(2)

void commands[command]!(fileStorage(folder), folder).then(async (result) => {
  await print(result ?? null)
  process.exit(0)
})
