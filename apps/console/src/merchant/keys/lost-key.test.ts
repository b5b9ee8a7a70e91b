import { findLostKey } from './lost-key'

const key = (clientId: string, title = 'Shop') => ({ clientId, title })

test.each([
  ['is new and has the name', [key('a')], [key('b'), key('a')], 'b'],
  ['was there before', [key('a')], [key('a')], undefined],
  ['has another name', [], [key('b', 'Other')], undefined],
  ['is the only one', [], [key('b')], 'b'],
])('a key that %s', (_, known, listed, lost) => {
  expect(findLostKey('Shop', known, listed)?.clientId).toBe(lost)
})
