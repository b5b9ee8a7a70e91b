import { DatabaseError } from '@tollgate/database'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { createBatchWriter } from './batch-writer'

type Item = { key: string; value: number }
type Write = { items: Item[]; succeed: (results?: [string, number][]) => void; fail: (error: Error) => void }

function heldWriter(lanes = 1) {
  const writes: Write[] = []
  const submit = createBatchWriter<Item, number>({
    keyOf: ({ key }) => key,
    lanes,
    write: (items) =>
      new Promise((resolve, reject) =>
        writes.push({
          items: [...items],
          succeed: (results = items.map(({ key, value }) => [key, value])) => resolve(new Map(results)),
          fail: reject,
        }),
      ),
  })
  const keys = () => writes.map(({ items }) => items.map(({ key }) => key))
  return { submit, writes, keys }
}

const failed = (code: string) => Object.assign(new DatabaseError('an error', 0, 'error'), { code })
/** A check constraint. */
const refused = () => failed('23514')

describe('createBatchWriter', () => {
  test('writes a lone item at once, and items that arrive meanwhile together', async () => {
    const { submit, writes, keys } = heldWriter()
    const lone = submit({ key: 'a', value: 1 })
    await nextTurn()
    const others = ['b', 'c'].map((key, value) => submit({ key, value }))
    await nextTurn()
    expect(keys()).toEqual([['a']])
    writes[0]!.succeed()
    expect(await lone).toBe(1)
    await nextTurn()
    expect(keys()).toEqual([['a'], ['b', 'c']])
    writes[1]!.succeed([['c', 7]])
    expect(await Promise.all(others)).toEqual([undefined, 7])
  })

  test('never writes two items of one key in one statement, or at the same time', async () => {
    const { submit, writes, keys } = heldWriter(2)
    const both = [1, 2].map((value) => submit({ key: 'a', value }))
    await nextTurn()
    const third = submit({ key: 'b', value: 3 })
    await nextTurn()
    expect(keys()).toEqual([['a'], ['b']])
    writes[0]!.succeed()
    await nextTurn()
    expect(keys()).toEqual([['a'], ['b'], ['a']])
    writes[1]!.succeed()
    writes[2]!.succeed()
    expect(await Promise.all([...both, third])).toEqual([1, 2, 3])
  })

  test.each(['57P01', '40003'])(
    'writes nothing again after error %s, whose outcome is unknown',
    async (code) => {
      const { submit, writes, keys } = heldWriter()
      const results = Promise.allSettled(['a', 'b'].map((key, value) => submit({ key, value })))
      await nextTurn()
      writes[0]!.fail(failed(code))
      expect((await results).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
      expect(keys()).toEqual([['a', 'b']])
    },
  )

  test('writes the items of a refused statement one at a time', async () => {
    const { submit, writes, keys } = heldWriter()
    const ends = Promise.allSettled(['a', 'b'].map((key, value) => submit({ key, value })))
    await nextTurn()
    writes[0]!.fail(refused())
    await nextTurn()
    writes[1]!.fail(refused())
    await nextTurn()
    writes[2]!.succeed()
    expect((await ends).map(({ status }) => status)).toEqual(['rejected', 'fulfilled'])
    expect(keys()).toEqual([['a', 'b'], ['a'], ['b']])
  })

  test('never repeats a statement that may have been committed', async () => {
    const { submit, writes, keys } = heldWriter()
    const ends = Promise.allSettled(['a', 'b'].map((key, value) => submit({ key, value })))
    await nextTurn()
    writes[0]!.fail(new Error('the connection broke'))
    expect((await ends).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    await nextTurn()
    expect(keys()).toEqual([['a', 'b']])
  })
})
