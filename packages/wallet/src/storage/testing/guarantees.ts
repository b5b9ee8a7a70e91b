import { type WalletStorage } from '../storage.js'

type Guarantee = {
  name: string
  /** Each call of `open` is another caller of the same, empty storage. */
  run(open: () => WalletStorage): Promise<unknown>
  expected: unknown
}

const once = (target: EventTarget, name: string) =>
  new Promise((resolve) => target.addEventListener(name, resolve, { once: true }))

const messageOf = (error: unknown) => (error as Error).message

function gate() {
  let open = () => {}
  const opened = new Promise<void>((resolve) => (open = resolve))
  return { open, opened }
}

/** Of every `WalletStorage`; each runs where the storage does, also in a page. */
export const guarantees: Guarantee[] = [
  {
    name: 'get returns undefined for an unknown key',
    run: (open) => open().get('unknown'),
    expected: undefined,
  },
  {
    name: 'get returns the whole value that was set last, by any caller',
    async run(open) {
      const [one, other] = [open(), open()]
      await one.set('a', 'first, and longer')
      await other.set('a', 'second')
      return [await one.get('a'), await other.get('a'), await open().get('a')]
    },
    expected: ['second', 'second', 'second'],
  },
  {
    name: 'values come back as they were: empty, lines, any language, a megabyte',
    async run(open) {
      const values = ['', '\n', 'a\r\n\n', '\ufeffé 漢 🦊\u0000', '"x'.repeat(2 ** 19)]
      const storage = open()
      for (const [index, value] of values.entries()) await storage.set(`v/${index}`, value)
      return Promise.all(values.map(async (value, index) => (await storage.get(`v/${index}`)) === value))
    },
    expected: [true, true, true, true, true],
  },
  {
    name: 'create makes a key once, and keeps its value',
    async run(open) {
      const storage = open()
      const results = [await storage.create('a', '1'), await storage.create('a', '2')]
      return [...results, await open().get('a')]
    },
    expected: [true, false, '1'],
  },
  {
    name: 'create after set is refused, create after delete is not',
    async run(open) {
      const storage = open()
      await storage.set('a', '1')
      const refused = await storage.create('a', '2')
      await storage.delete('a')
      return [refused, await storage.get('a'), await storage.create('a', '3'), await storage.get('a')]
    },
    expected: [false, undefined, true, '3'],
  },
  {
    name: 'of twenty that create a key at once, one wins, and its value stays',
    async run(open) {
      const rounds = Array.from({ length: 10 }, async (_, round) => {
        const callers = Array.from({ length: 20 }, (_caller, index) => ({
          storage: open(),
          value: `${index}`,
        }))
        const won = await Promise.all(
          callers.map(async ({ storage, value }) =>
            (await storage.create(`race/${round}`, value)) ? [value] : [],
          ),
        )
        return won.flat().length === 1 && won.flat()[0] === (await open().get(`race/${round}`))
      })
      return (await Promise.all(rounds)).filter(Boolean).length
    },
    expected: 10,
  },
  {
    name: 'delete of an unknown key does nothing',
    run: (open) => open().delete('unknown'),
    expected: undefined,
  },
  {
    name: 'list returns the keys of a prefix by their code units',
    async run(open) {
      const storage = open()
      const keys = ['p/b', 'p/B', 'p/10', 'p/9', 'p', 'p/', 'q/a', 'p/a:.-_/Z', 'P/a', 'p/..', 'p/%41']
      for (const key of keys) await storage.set(key, key)
      await storage.delete('p/9')
      return [await open().list('p/'), await open().list('q/a'), (await open().list('')).length]
    },
    expected: [['p/', 'p/%41', 'p/..', 'p/10', 'p/B', 'p/a:.-_/Z', 'p/b'], ['q/a'], 10],
  },
  {
    name: 'list of an empty storage is empty',
    run: (open) => open().list(''),
    expected: [],
  },
  {
    name: 'keys that differ in case are different, and none leaves the storage',
    async run(open) {
      const storage = open()
      const keys = ['a', 'A', '../../a', '/a', '.', '..', 'a/', 'a.', 'aux', 'x'.repeat(200)]
      for (const key of keys) await storage.set(key, `of ${key}`)
      const found = await Promise.all(keys.map(async (key) => (await storage.get(key)) === `of ${key}`))
      return [found.filter(Boolean).length, (await storage.list('')).length]
    },
    expected: [10, 10],
  },
  {
    name: 'lock runs one task of a name at a time',
    async run(open) {
      let running = 0
      let most = 0
      let total = 0
      const task = async () => {
        running++
        most = Math.max(most, running)
        await open().set('a', '1')
        running--
        total++
      }
      const callers = Array.from({ length: 3 }, open)
      await Promise.all(callers.flatMap((storage) => [1, 2, 3].map(() => storage.lock('name', task))))
      return [most, total]
    },
    expected: [1, 9],
  },
  {
    name: 'lock of another name does not wait',
    run: (open) => open().lock('one', () => open().lock('other', () => Promise.resolve('both'))),
    expected: 'both',
  },
  {
    name: 'lock passes on what the task returns or throws, and is free after both',
    async run(open) {
      const storage = open()
      const results = [
        await storage.lock('name', () => Promise.resolve(1)),
        await storage.lock('name', () => Promise.reject(new Error('of the task'))).catch(messageOf),
        await storage.tryLock('name', () => Promise.reject(new Error('of the task'))).catch(messageOf),
        await storage
          .lock('name', () => {
            throw new Error('at once')
          })
          .catch(messageOf),
      ]
      return [...results, await open().tryLock('name', () => Promise.resolve(2))]
    },
    expected: [1, 'of the task', 'of the task', 'at once', 2],
  },
  {
    name: 'tryLock returns undefined, and does not run the task, while the name is taken',
    async run(open) {
      let runs = 0
      const task = () => Promise.resolve(++runs)
      const taken = await open().lock('name', () => open().tryLock('name', task))
      return [taken, runs, await open().tryLock('name', task)]
    },
    expected: [undefined, 0, 1],
  },
  {
    name: 'a signal ends the waiting with its reason, and the name is free afterwards',
    async run(open) {
      const holder = gate()
      const held = gate()
      const holding = open().lock('name', () => {
        held.open()
        return holder.opened
      })
      await held.opened
      const controller = new AbortController()
      let runs = 0
      const task = () => Promise.resolve(runs++)
      const waiting = open().lock('name', task, controller.signal).catch(messageOf)
      controller.abort(new Error('stopped'))
      const reason = await waiting
      holder.open()
      await holding
      return [reason, runs, await open().tryLock('name', () => Promise.resolve('free'))]
    },
    expected: ['stopped', 0, 'free'],
  },
  {
    name: 'a signal that is aborted already refuses at once',
    async run(open) {
      let runs = 0
      const result = await open()
        .lock('name', () => Promise.resolve(runs++), AbortSignal.abort(new Error('stopped')))
        .catch(messageOf)
      return [result, runs]
    },
    expected: ['stopped', 0],
  },
  {
    name: 'a signal does not stop a task that runs',
    async run(open) {
      const controller = new AbortController()
      const task = async () => {
        const aborted = once(controller.signal, 'abort')
        controller.abort()
        await aborted
        return 'done'
      }
      return open().lock('name', task, controller.signal)
    },
    expected: 'done',
  },
]
