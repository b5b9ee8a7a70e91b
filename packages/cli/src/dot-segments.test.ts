import { hasDotSegments } from './dot-segments'

test.each(['cosmos/bank/v1beta1/supply', '/cosmos/a?b=../c', 'a.b/..c', 'denoms/ibc%2FA', '%', ''])(
  '%s has no dot segments',
  (path) => expect(hasDotSegments(path)).toBe(false),
)

test.each([
  ...['../x', 'a/../../x', 'a/%2e%2e/x', '%2E./x', 'a/..', './x', 'a\\..\\..\\x'],
  ...['a/..%2fx', 'a%5C..%5cx', '%252e%252e/x', '%25252e./x'],
])('%s has', (path) => expect(hasDotSegments(path)).toBe(true))
