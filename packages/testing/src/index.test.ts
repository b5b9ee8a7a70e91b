import * as testing from './index'

test('exports what the tests of both services share, and no more', () => {
  expect(Object.keys(testing).sort()).toEqual(['closeAll', 'closeLater', 'migratedDatabase', 'readableLog'])
})
