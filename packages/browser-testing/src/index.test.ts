import * as browserTesting from './index'

test('exports these names and no others', () => {
  expect(Object.keys(browserTesting).sort()).toEqual([
    'INSECURE_HOST',
    'describeInBrowser',
    'launchBrowser',
    'openBrowser',
  ])
})
