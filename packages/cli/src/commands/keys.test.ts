import { UsageError } from '../exit-codes'
import { parseKey } from './keys'

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
