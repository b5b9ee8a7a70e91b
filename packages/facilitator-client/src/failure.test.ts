import axios from 'axios'
import { failureOf } from './failure'
import { closedPort } from './testing/servers'

async function failureAt(addresses: string[]) {
  const port = await closedPort()
  const asked = axios.get(`http://two-addresses.test:${port}`, {
    proxy: false,
    lookup: (_host, _options, callback) =>
      callback(
        null,
        addresses.map((address) => ({ address, family: 4 })),
      ),
  })
  return failureOf(await asked.catch((error: unknown) => error))
}

describe('the request was not sent', () => {
  test.each([[['127.0.0.1']], [['127.0.0.1', '127.0.0.2']]])(
    'if the port is closed at %j',
    async (addresses) => {
      const { notSent, error } = await failureAt(addresses)
      expect([notSent, error.message]).toEqual([true, 'The facilitator could not be reached (ECONNREFUSED)'])
    },
  )
})

test('the message of an unknown error is not repeated', () => {
  const { error, notSent, isTransient } = failureOf(new Error('the secret'))
  expect([error.message, notSent, isTransient]).toEqual([
    'The request to the facilitator failed',
    false,
    false,
  ])
})
