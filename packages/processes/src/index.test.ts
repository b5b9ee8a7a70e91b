import * as processes from './index'

test('exports these names and no others', () => {
  expect(Object.keys(processes).sort()).toEqual([
    'freePort',
    'isAlive',
    'onFreePort',
    'startProcess',
    'untilDead',
  ])
})
