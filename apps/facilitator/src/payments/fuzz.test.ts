import { closeAll } from '@tollgate/testing'
import fc from 'fast-check'
import { newPayer, sharedChain } from '../testing/chain'
import { type ClientHeaders, type TestFacilitator } from '../testing/facilitator'
import { facilitatorWithClient } from '../testing/facilitator-with-client'
import { paymentRequest } from '../testing/payment'

const rpcUrl = sharedChain()
let facilitator: TestFacilitator
let client: ClientHeaders
let sent: () => Promise<number>

beforeAll(async () => {
  ;({ facilitator, client, sent } = await facilitatorWithClient())
})
afterAll(closeAll)

/** The path of every member that can be replaced. */
function placesIn(value: unknown, path: string[] = []): string[][] {
  if (typeof value !== 'object' || value === null) return [path]
  return [path, ...Object.entries(value).flatMap(([name, member]) => placesIn(member, [...path, name]))]
}

function replaced(value: unknown, [name, ...rest]: string[], by: unknown): unknown {
  if (name === undefined) return by
  const object = value as Record<string, unknown>
  return { ...object, [name]: replaced(object[name], rest, by) }
}

const hostile = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  fc.string({ unit: 'binary' }),
  fc.constantFrom(
    '',
    '0',
    '-1',
    '1e4',
    '0x',
    '0x0',
    `0x${'0'.repeat(40)}`,
    '9'.repeat(78),
    '\u0000',
    '\ud800',
    'é',
  ),
  fc.constantFrom(0, -1, 1.5, 1e308, 2 ** 53, null, true, []),
)

test('any replaced member of a request gives a refusal or a 400, and no gas is spent', async () => {
  const good = await paymentRequest(await newPayer(rpcUrl))
  // These members are optional or may have any value, so replacing one can leave the request valid.
  const free = [
    'description',
    'mimeType',
    'resource',
    'outputSchema',
    'extra',
    'maxTimeoutSeconds',
    'x402Version',
  ]
  const places = placesIn(good).filter((path) => !free.includes(path.at(-1) ?? ''))

  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom('/api/v1/verify', '/api/v1/settle'),
      fc.constantFrom(...places),
      hostile,
      async (path, place, value) => {
        const body = replaced(good, place, value)
        fc.pre(JSON.stringify(body) !== JSON.stringify(good))
        const answer = await facilitator.api
          .post(path)
          .set({ ...client, 'Content-Type': 'application/json' })
          .send(JSON.stringify(body))
        const { isValid, success } = answer.body as { isValid?: boolean; success?: boolean }
        expect([200, 400]).toContain(answer.status)
        expect(isValid ?? success ?? false).toBe(false)
      },
    ),
    { numRuns: 300 },
  )
  expect(await sent()).toBe(0)
})
