import { setImmediate as nextTurn } from 'node:timers/promises'
import { createLookup } from './lookup'

/** A lookup in `world`, which may change, and the questions that it asked. */
function lookupIn(world: Map<string, string>) {
  const questions: (readonly string[])[] = []
  const find = createLookup((keys) => {
    questions.push(keys)
    return Promise.resolve(new Map([...world].filter(([key]) => keys.includes(key))))
  })
  return { find, questions }
}

describe('a lookup', () => {
  test('asks together for what is asked in one turn, for each thing once', async () => {
    const { find, questions } = lookupIn(new Map(Object.entries({ a: '1', b: '2' })))
    expect(await Promise.all(['a', 'b', 'a', 'c'].map(find))).toEqual(['1', '2', '1', undefined])
    expect(await find('b')).toBe('2')
    expect(questions).toEqual([['a', 'b', 'c'], ['b']])
  })

  test('tells what holds when the last has asked, and keeps nothing of it', async () => {
    const world = new Map([['a', 'old']])
    const { find, questions } = lookupIn(world)
    const first = find('a')
    world.set('a', 'new')
    expect(await Promise.all([first, find('a')])).toEqual(['new', 'new'])
    world.delete('a')
    expect(await find('a')).toBeUndefined()
    expect(questions).toEqual([['a'], ['a']])
  })

  test('lets nobody share a question that was asked before', async () => {
    const answers: ((found: ReadonlyMap<string, string>) => void)[] = []
    const find = createLookup<string>(() => new Promise((resolve) => answers.push(resolve)))
    const early = find('a')
    while (answers.length === 0) await nextTurn()
    const late = find('a')
    while (answers.length === 1) await nextTurn()
    answers[0]?.(new Map([['a', 'alive']]))
    answers[1]?.(new Map())
    expect(await Promise.all([early, late])).toEqual(['alive', undefined])
  })

  test('fails for all who asked, and for nobody after them', async () => {
    let isDown = true
    const find = createLookup<string>((keys) =>
      isDown ? Promise.reject(new Error('down')) : Promise.resolve(new Map(keys.map((key) => [key, key]))),
    )
    const asked = [find('a'), find('b')].map((one) => one.catch((error: unknown) => (error as Error).message))
    expect(await Promise.all(asked)).toEqual(['down', 'down'])
    isDown = false
    expect(await find('a')).toBe('a')
  })
})
