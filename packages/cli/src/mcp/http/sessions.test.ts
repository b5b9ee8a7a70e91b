import { createSessionTable } from './sessions'

function openTable() {
  let time = 0
  const closed: string[] = []
  const bounds = { maxSessions: 2, idleMs: 100, maxAgeMs: 1_000 }
  const table = createSessionTable<string>({
    bounds,
    now: () => time,
    close: (value) => void closed.push(value),
  })
  return { table, closed, at: (now: number) => void (time = now) }
}

describe('sessions', () => {
  test('make room by closing the one that was used least recently', () => {
    const { table, closed, at } = openTable()
    table.add('a', 'A')
    at(1)
    table.add('b', 'B')
    at(2)
    table.use('a')()
    expect(table.makeRoom(0)).toBe(true)
    expect(closed).toEqual(['B'])
  })

  test('with a request in flight are not closed', () => {
    const { table, closed, at } = openTable()
    table.add('a', 'A')
    table.add('b', 'B')
    const release = table.use('a')
    table.use('b')
    at(5_000)
    expect([table.makeRoom(0), closed]).toEqual([false, []])
    release()
    at(5_050)
    expect([table.makeRoom(0), closed]).toEqual([true, ['A']])
  })

  test('count those that are being opened', () => {
    const { table } = openTable()
    expect([table.makeRoom(1), table.makeRoom(2)]).toEqual([true, false])
  })

  test('end after they were idle, and at their greatest age', () => {
    const { table, closed, at } = openTable()
    table.add('idle', 'idle')
    table.add('used', 'used')
    for (let time = 50; time < 1_000; time += 50) {
      at(time)
      table.use('used')()
      table.sweep()
    }
    expect(closed).toEqual(['idle'])
    at(1_000)
    expect(table.find('used')).toBeUndefined()
    expect(closed).toEqual(['idle', 'used'])
  })

  test('that were removed are closed once', () => {
    const { table, closed } = openTable()
    table.add('a', 'A')
    table.remove('a')
    table.remove('a')
    expect([closed, table.size(), table.find('a')]).toEqual([['A'], 0, undefined])
  })
})
