import { userAgentOf } from './user-agent'

test.each([
  ['curl/8.5.0', 'curl/8.5.0'],
  ['  Mozilla/5.0 (X11)  ', 'Mozilla/5.0 (X11)'],
  ['shop\u0000\u001b[31m\r\n\u007f\u0085\u202e✓', 'shop[31m'],
  ['x'.repeat(5_000), 'x'.repeat(200)],
  [`${'x'.repeat(199)} ${'y'.repeat(100)}`, 'x'.repeat(199)],
  ['\u0000\u00e9', null],
  ['', null],
  [undefined, null],
])('%j is stored as %j', (sent, stored) => {
  expect(userAgentOf({ get: (() => sent) as never })).toBe(stored)
})
