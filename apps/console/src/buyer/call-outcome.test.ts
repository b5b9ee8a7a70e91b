import { usageOutcomes } from '@tollgate/protocol'
import { callOutcome } from './call-outcome'

test.each([
  ['answered', 'good'],
  ['reserved', 'waiting'],
  ['upstream_failed', 'bad'],
  ['refunded', 'neutral'],
  ['a_word_of_a_newer_gateway', 'neutral'],
  ['toString', 'neutral'],
])('a call that is %s has the tone %s', (outcome, tone) => expect(callOutcome(outcome).tone).toBe(tone))

test('each outcome of the gateway has a text of its own', () => {
  const texts = usageOutcomes.map((outcome) => callOutcome(outcome).text)
  expect(new Set(texts).size).toBe(usageOutcomes.length)
  expect(texts.filter((text) => text === '' || text.includes('_'))).toEqual([])
})
