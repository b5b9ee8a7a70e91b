import { findTargetProblem } from './target-url'

test.each([
  ['https://shop.example/hooks?x=1', undefined, undefined],
  ['http://127.0.0.1:4000/hooks', undefined, 'https://'],
  ['http://localhost:4000/', undefined, 'https://'],
  ['https://127.0.0.1/', undefined, 'public'],
  ['https://2130706433/', undefined, 'public'],
  ['https://[::ffff:10.0.0.1]/', 'public', 'public'],
  ['https://10.0.0.1/', 'public', 'public'],
  ['https://169.254.169.254/latest/meta-data', 'public', 'public'],
  ['https://8.8.8.8/', undefined, undefined],
  ['http://8.8.8.8/', 'public', 'https://'],
  ['https://user:password@shop.example/', 'user name', 'user name'],
  ['https://user@shop.example/', 'user name', 'user name'],
  ['ftp://shop.example/', 'https://', 'https://'],
  ['file:///etc/passwd', 'https://', 'https://'],
  ['shop.example', 'not a URL', 'not a URL'],
  ['', 'not a URL', 'not a URL'],
])('%s: %s in development, %s in production', (url, development, production) => {
  for (const [isProduction, problem] of [
    [false, development],
    [true, production],
  ] as const) {
    const found = findTargetProblem(url, isProduction)
    if (problem === undefined) expect(found).toBeUndefined()
    else expect(found).toContain(problem)
  }
})
