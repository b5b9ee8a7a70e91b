import { UsageError } from '../exit-codes'
import { parseKey, urlFacts } from './keys'

test('the limits of an access key', () => {
  expect(
    parseKey('explorer', {
      maxCredits: '500',
      maxCreditsPerDay: '50',
      expires: '2027-01-31',
      chain: ['84532'],
    }),
  ).toEqual({
    label: 'explorer',
    max_credits: 500,
    max_credits_per_day: 50,
    expires_at: '2027-01-31T00:00:00.000Z',
    chains: ['84532'],
  })
})

test.each([
  { maxCredits: '0' },
  { maxCredits: '1.5' },
  { maxCreditsPerDay: 'many' },
  { expires: 'tomorrow' },
  { expires: '2027-13-01' },
])('%j is wrong usage', (options) => {
  expect(() => parseKey('explorer', options)).toThrow(UsageError)
})

test('the shown URL can be pasted: it has the one chain of the key, or says where a chain goes', () => {
  const url = 'https://gateway.example/v1/{chain}/tgk_secret'
  expect(urlFacts(url, ['base-sepolia'])).toEqual([
    ['URL', 'https://gateway.example/v1/base-sepolia/tgk_secret'],
  ])
  expect(urlFacts(url, ['base', 'polygon']).flat().join(' ')).toContain('in place of {chain}, such as base.')
  expect(urlFacts(url)[0]).toEqual(['URL', url])
})
