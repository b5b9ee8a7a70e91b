import * as testing from './index'
import * as reference from './reference'

test('exports these names and no others', () => {
  expect(Object.keys(testing).sort()).toEqual([
    'closeAll',
    'closeLater',
    'emptyDatabase',
    'eventually',
    'migratedDatabase',
    'pathOf',
    'readableLog',
    'runBin',
    'runMain',
    'startTraceCollector',
    'startWebhookReceiver',
  ])
})

test('the reference entry exports these names and no others', () => {
  expect(Object.keys(reference).sort()).toEqual([
    'bearer',
    'createContract',
    'fuzz',
    'fuzzOptions',
    'headerTexts',
    'hostileTexts',
    'inBase64',
    'lintErrors',
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
