import { isolated } from './isolated'

test.each([
  ['Weather shop', 'Weather shop'],
  ['shop \u202E50.0 CDSU detnuocsid', 'shop 50.0 CDSU detnuocsid'],
  ['\u2067a\u2069\u202Db', 'ab'],
  ['خدمة الطقس', '\u2068خدمة الطقس\u2069'],
  ['שלום\u2069\u202Eabc', '\u2068שלוםabc\u2069'],
  ['caf\u00E9 🦄', 'caf\u00E9 🦄'],
])('%j is written into a sentence as %j', (text, shown) => {
  expect(isolated(text)).toBe(shown)
})
