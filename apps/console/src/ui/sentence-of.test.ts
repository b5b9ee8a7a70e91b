import { ApiError } from '../api/api-error'
import { shared } from '../texts'
import { sentenceOf } from './sentence-of'

const refused = (message: string, status = 400) => new ApiError(status, 'INVALID_REQUEST', message, 'request')

test.each<[unknown, string]>([
  [refused('id: Invalid GUID'), shared.failed.malformedId],
  [
    refused('nonce: unknown, used or expired; ask POST /api/v1/recipients/challenge for a new one'),
    shared.failed.usedText,
  ],
  [
    refused('The nonce is unknown, used or expired; ask GET /auth/nonce for a new one and sign again', 401),
    shared.failed.usedText,
  ],
  [refused('from: must not be later than to'), shared.failed.datesReversed],
  [refused('The label is taken', 409), 'The label is taken'],
  [refused('id: Invalid GUID', 500), 'id: Invalid GUID'],
  [new Error('User rejected the request.'), 'User rejected the request.'],
])('%s', (error, sentence) => {
  expect(sentenceOf(error)).toBe(sentence)
})
