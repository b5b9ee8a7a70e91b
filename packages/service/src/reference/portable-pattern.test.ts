import { portablePattern } from './portable-pattern'

test.each([
  ['digits', '^(0|[1-9][0-9]*)$', '^(0|[1-9][0-9]*)$'],
  ['a bracket within a class', '^[a-z.[\\]:-]+$', '^[a-z.\\[\\]:-]+$'],
  ['an escaped bracket within a class', '^[\\[a]$', '^[\\[a]$'],
  ['control characters and surrogates', '^[^\\p{Cc}\\p{Cs}]*$', '^[^\\x00-\\x1f\\x7f-\\x9f]*$'],
  ['a group that captures nothing', '^(?:a|b)$', '^(?:a|b)$'],
  ['a lookahead', '^(?!\\s)a$', '^(?!\\s)a$'],
  ['another property of Unicode', '^\\p{L}$', undefined],
  ['a class of surrogates only', '^[\\p{Cs}]$', undefined],
])('%s', (_, pattern, portable) => expect(portablePattern(pattern)).toBe(portable))
