import { createTurns, type Turn } from './turns'

const lineOf = (limits: { max: number; maxEach: number }) => {
  const turnAt = createTurns(limits)
  const started: string[] = []
  const enter = (holder: string, name = holder, place = 'here'): Turn => {
    const turn = turnAt(place, holder)
    turn.enter(() => started.push(name))
    return turn
  }
  return { enter, started }
}

test('as many go at once as may, and the others in their order as places come free', () => {
  const { enter, started } = lineOf({ max: 2, maxEach: 2 })
  const [first, second] = [enter('a'), enter('b')]
  enter('c')
  enter('d')
  expect(started).toEqual(['a', 'b'])
  second.leave()
  expect(started).toEqual(['a', 'b', 'c'])
  first.leave()
  expect(started).toEqual(['a', 'b', 'c', 'd'])
})

test('nobody takes more than their share, and who has it is passed over until one of theirs is over', () => {
  const { enter, started } = lineOf({ max: 3, maxEach: 2 })
  const first = enter('greedy', '1')
  enter('greedy', '2')
  enter('greedy', '3')
  enter('modest', 'm')
  expect(started).toEqual(['1', '2', 'm'])
  first.leave()
  expect(started).toEqual(['1', '2', 'm', '3'])
})

test('who leaves the line is never started, and who leaves twice gives back one place', () => {
  const { enter, started } = lineOf({ max: 1, maxEach: 1 })
  const first = enter('a')
  const second = enter('b')
  second.leave()
  enter('c')
  enter('d')
  first.leave()
  first.leave()
  expect(started).toEqual(['a', 'c'])
})

test('places have nothing to do with each other', () => {
  const { enter, started } = lineOf({ max: 1, maxEach: 1 })
  enter('a')
  enter('a', 'elsewhere', 'there')
  expect(started).toEqual(['a', 'elsewhere'])
})
