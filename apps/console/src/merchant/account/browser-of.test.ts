import { browserOf } from './browser-of'

test.each([
  ['Mozilla/5.0 (X11; Linux x86_64; rv:142.0) Gecko/20100101 Firefox/142.0', 'Firefox, Linux'],
  ['Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/140.0 Safari/537.36 Edg/140.0', 'Edge, Windows'],
  ['Mozilla/5.0 (Linux; Android 15) AppleWebKit/537.36 Chrome/140.0 Mobile Safari/537.36', 'Chrome, Android'],
  ['Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) Version/19.0 Safari/604.1', 'Safari, iOS'],
  ['curl/8.5.0', 'curl'],
  ['my own client', 'my own client'],
  [null, 'unknown'],
  ['', 'unknown'],
])('%j is %s', (userAgent, name) => {
  expect(browserOf(userAgent)).toBe(name)
})
