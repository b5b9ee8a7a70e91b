import * as testing from './index'
import * as reference from './reference'

test('exports what the tests of both services share, and no more', () => {
  expect(Object.keys(testing).sort()).toEqual(['closeAll', 'closeLater', 'migratedDatabase', 'readableLog'])
})

test('exports apart from that what holds a service against its reference', () => {
  expect(Object.keys(reference).sort()).toEqual([
    'bearer',
    'createContract',
    'fuzz',
    'fuzzOptions',
    'headerTexts',
    'hostileTexts',
    'inBase64',
    'live',
    'often',
    'routesOf',
    'spoiled',
    'spoiledText',
    'strangeAuthorization',
    'tryBodies',
    'valuesOf',
  ])
})
