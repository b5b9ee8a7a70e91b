import { setImmediate as nextTurn } from 'node:timers/promises'
import { createBatchLoader } from './batch-loader'

function createLoader(values: Map<string, string>) {
  const batches: (readonly string[])[] = []
  const find = createBatchLoader((keys) => {
    batches.push(keys)
    return Promise.resolve(new Map([...values].filter(([key]) => keys.includes(key))))
  })
  return { find, batches }
}

describe('createBatchLoader', () => {
  test('loads the keys of one turn in one batch, each once', async () => {
    const { find, batches } = createLoader(new Map(Object.entries({ a: '1', b: '2' })))
    expect(await Promise.all(['a', 'b', 'a', 'c'].map(find))).toEqual(['1', '2', '1', undefined])
    expect(await find('b')).toBe('2')
    expect(batches).toEqual([['a', 'b', 'c'], ['b']])
  })

  test('returns values as of the last call, and caches nothing', async () => {
    const values = new Map([['a', 'old']])
    const { find, batches } = createLoader(values)
    const first = find('a')
    values.set('a', 'new')
    expect(await Promise.all([first, find('a')])).toEqual(['new', 'new'])
    values.delete('a')
    expect(await find('a')).toBeUndefined()
    expect(batches).toEqual([['a'], ['a']])
  })

  test('a call after the batch was sent starts another one', async () => {
    const resolvers: ((found: ReadonlyMap<string, string>) => void)[] = []
    const find = createBatchLoader<string>(() => new Promise((resolve) => resolvers.push(resolve)))
    const early = find('a')
    while (resolvers.length === 0) await nextTurn()
    const late = find('a')
    while (resolvers.length === 1) await nextTurn()
    resolvers[0]?.(new Map([['a', 'alive']]))
    resolvers[1]?.(new Map())
    expect(await Promise.all([early, late])).toEqual(['alive', undefined])
  })

  test('an error rejects the calls of its batch only', async () => {
    let isDown = true
    const find = createBatchLoader<string>((keys) =>
      isDown ? Promise.reject(new Error('down')) : Promise.resolve(new Map(keys.map((key) => [key, key]))),
    )
    const results = [find('a'), find('b')].map((one) =>
      one.catch((error: unknown) => (error as Error).message),
    )
    expect(await Promise.all(results)).toEqual(['down', 'down'])
    isDown = false
    expect(await find('a')).toBe('a')
  })
})
