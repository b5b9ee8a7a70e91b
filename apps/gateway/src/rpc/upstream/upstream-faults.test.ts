import { setTimeout as delay } from 'node:timers/promises'
import { bytesOf, createCaller } from '../../testing/callers'
import { faults, startRaw, unreachable, type FaultyUpstream } from '../../testing/faults'
import { auditAndClose, testGateway, type TestGateway } from '../../testing/gateway'
import { answers, startUpstream } from '../../testing/upstream'

/** Long enough for the second upstream on a busy machine. */
const SHORT_TIMEOUT_SECONDS = 2

let gateway: TestGateway
let shortTimeout: TestGateway
let token: string
beforeAll(async () => {
  gateway = await testGateway()
  shortTimeout = await testGateway({
    beside: gateway,
    environment: { UPSTREAM_TIMEOUT_SECONDS: SHORT_TIMEOUT_SECONDS },
  })
  const owner = gateway.wallet()
  await gateway.fund(owner.address, 1_000_000)
  token = (await owner.signIn()).token
})
afterAll(() => auditAndClose(gateway, shortTimeout))

const methods = { read: 'eth_call', idempotent: 'eth_sendRawTransaction', write: 'eth_sendTransaction' }
type Kind = keyof typeof methods

/**
 * The end of a call: the faulty upstream's own status, the answer of the `second`, `refunded` with a 500, or
 * `cut` off after it began, which stays charged.
 */
type End = number | 'second' | 'refunded' | 'cut'
type Ends = Record<Kind, [alone: End, withASecond: End]>

const everyKind = (...ends: [End, End]): Ends => ({ read: ends, idempotent: ends, write: ends })
const unsent = everyKind('refunded', 'second')
const reset: Ends = { ...unsent, write: ['refunded', 'refunded'] }
const late: Ends = { ...reset, idempotent: ['refunded', 'refunded'] }
const explained = (status: number): Ends => ({ ...everyKind(status, status), read: [status, 'second'] })
const answering = (status: number) => everyKind(status, status)

const metadata = 'http://169.254.169.254/latest/meta-data/'
const raw =
  (...given: Parameters<typeof startRaw>): (() => Promise<FaultyUpstream>) =>
  () =>
    startRaw(...given)

type Row = [fault: string, start: () => Promise<FaultyUpstream>, ends: Ends]

/** Faults that end by themselves. */
const failures: Row[] = [
  ['refuses the connection', unreachable.refusing, unsent],
  ['has an unresolvable host name', unreachable.nameless, unsent],
  ['has a self-signed certificate', unreachable.untrusted, unsent],
  ['does not use TLS', unreachable.plain, unsent],
  ['closes at once', raw(faults.hang, { onConnection: (socket) => socket.end() }), reset],
  ['closes before its answer', raw(faults.close), reset],
  ['resets before its answer', raw(faults.reset), reset],
  ['resets within a small answer', raw(faults.cutAfter(1_000, 5_000)), reset],
  ['ends within a chunk', raw(faults.cutChunk), reset],
  ['resets within a large answer', raw(faults.cutAfter(2_000_000, 4_000_000)), everyKind('cut', 'cut')],
  ['answers garbage', raw(faults.garbage), reset],
  ['does not answer in HTTP', raw(faults.html), reset],
  ['switches protocols', raw(faults.upgrade), reset],
  ['gives two lengths', raw(faults.twoLengths), reset],
  ['gives a length and chunks', raw(faults.smuggle), reset],
  ['answers with a million headers', raw(faults.manyHeaders), reset],
  ['answers with a header of megabytes', raw(faults.longHeader), reset],
  ['answers with a binary header', raw(faults.oddHeader), reset],
  ['redirects to a metadata address', raw(faults.says('302 Found', `location: ${metadata}`)), late],
  ['redirects, the method kept', raw(faults.says('307 Temporary Redirect', `location: ${metadata}`)), late],
  ["rejects the gateway's credentials", raw(faults.says('401 Unauthorized')), reset],
  ['requires payment itself', raw(faults.says('402 Payment Required')), reset],
  ['forbids it', raw(faults.says('403 Forbidden')), reset],
  ['has a proxy that requires a password', raw(faults.says('407 Proxy Authentication Required')), reset],
  ['limits the rate', raw(faults.says('429 Too Many Requests')), reset],
  ['limits the rate, in JSON-RPC', raw(faults.explains('429 Too Many Requests')), reset],
  ['had no time to read the request', raw(faults.says('408 Request Timeout')), late],
  ['fails', raw(faults.says('500 Internal Server Error')), late],
  ['has no node behind it', raw(faults.says('502 Bad Gateway')), late],
  ['is out of service', raw(faults.says('503 Service Unavailable')), late],
  ['timed out on its node', raw(faults.says('504 Gateway Timeout')), late],
  ['fails, as its node explains', raw(faults.explains('500 Internal Server Error')), explained(500)],
  ['rejects the request', raw(faults.says('400 Bad Request')), answering(400)],
  ['has no such resource', raw(faults.says('404 Not Found')), answering(404)],
]

/** Faults that only a timeout ends. */
const hangs: Row[] = [
  ['does not end its TLS handshake', unreachable.silentTls, unsent],
  ['never responds', raw(faults.hang), late],
  ['drips without end', raw(faults.drip), late],
  ['drips its headers', raw(faults.dripHead), late],
  ['sends interim responses only', raw(faults.hints), late],
]

async function call(chosen: TestGateway, chain_id: string, kind: Kind) {
  const payload = { jsonrpc: '2.0', id: 1, method: methods[kind], params: [] }
  const answer = await createCaller(chosen, token)({ chain_id, payload })
  const text = (await bytesOf(answer))?.toString()
  return { status: answer.statusCode, headers: JSON.stringify(answer.headers), text }
}

const endOf = ({ status, text }: Awaited<ReturnType<typeof call>>): End => {
  if (text === undefined) return 'cut'
  if (status === 500 && text.includes('"UPSTREAM_FAILED"')) return 'refunded'
  return status === 200 && text.includes('"second"') ? 'second' : status
}

/** Credits and usage rows of the calls to a chain. */
async function bookedFor(chosen: TestGateway, chain_id: string) {
  await chosen.ledger.drain()
  const { rows: booked } = await chosen.pool.query<Record<string, unknown>>(
    'SELECT state, outcome, credits FROM usage WHERE chain_id = $1',
    [chain_id],
  )
  return booked
}

/** As {@link bookedFor}, once a broken-off answer is recorded. */
async function bookedAsCutOff(chosen: TestGateway, chain_id: string) {
  for (const deadline = Date.now() + 30_000; Date.now() < deadline;) {
    const booked = await bookedFor(chosen, chain_id)
    if (booked.every(({ outcome }) => outcome === 'cut_off')) return booked
    await delay(20)
  }
  throw new Error('The cut-off answer was not recorded')
}

const addressOf = (url: string) => new URL(url).host

async function expectEnds(chosen: TestGateway, start: Row[1], ends: Ends) {
  const combinations = (['read', 'idempotent', 'write'] as const).flatMap((kind) =>
    ([0, 1] as const).map((others) => ({ kind, others, expected: ends[kind][others] })),
  )
  const outcomes = await Promise.all(
    combinations.map(async ({ kind, others, expected }) => {
      const first = await start()
      const second = await startUpstream(answers.result('second'))
      const chain_id = await chosen.chain(first.url, ...(others === 1 ? [second.url] : []))
      const answer = await call(chosen, chain_id, kind)
      for (const { url } of [first, second]) {
        expect(answer.headers + (answer.text ?? '')).not.toContain(addressOf(url))
        expect(chosen.log.text()).not.toContain(addressOf(url))
      }
      expect(answer.headers + (answer.text ?? '')).not.toContain('169.254')
      expect(second.requests).toHaveLength(expected === 'second' ? 1 : 0)
      return {
        call: `${kind}, ${others === 1 ? 'with a second one behind it' : 'alone'}`,
        end: endOf(answer),
        asked: first.requestCount(),
        booked: await (expected === 'cut' ? bookedAsCutOff : bookedFor)(chosen, chain_id),
      }
    }),
  )
  expect(outcomes).toEqual(
    combinations.map(({ kind, others, expected }) => ({
      call: `${kind}, ${others === 1 ? 'with a second one behind it' : 'alone'}`,
      end: expected,
      asked: ends === unsent ? 0 : 1,
      booked: [
        expected === 'refunded'
          ? { state: 'refunded', outcome: 'upstream_failed', credits: 1 }
          : { state: 'done', outcome: expected === 'cut' ? 'cut_off' : 'answered', credits: 1 },
      ],
    })),
  )
}

describe('where an upstream', () => {
  test.each(failures)('%s', async (_, start, ends) => expectEnds(gateway, start, ends))
  test.each(hangs)('%s', async (_, start, ends) => expectEnds(shortTimeout, start, ends))
})
