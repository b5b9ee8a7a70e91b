import axios from 'axios'
import { failureOf } from './failure'
import { closedPort } from './testing/servers'

/** What a request to a host with these addresses fails with, on a port where nobody listens. */
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

describe('a request never left', () => {
  test.each([[['127.0.0.1']], [['127.0.0.1', '127.0.0.2']]])(
    'where nobody listens at %j',
    async (addresses) => {
      const { notSent, error } = await failureAt(addresses)
      expect([notSent, error.message]).toEqual([true, 'The facilitator could not be reached (ECONNREFUSED)'])
    },
  )
})

test('what is no answer and no failure of the network is told without a word of it', () => {
  const { error, notSent, isTransient } = failureOf(new Error('the secret'))
  expect([error.message, notSent, isTransient]).toEqual(['The facilitator could not be asked', false, false])
})
