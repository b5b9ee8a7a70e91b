import { type SessionTokens } from '@tollgate/protocol'
import { closeAll } from '@tollgate/testing'
import fc from 'fast-check'
import { randomBytes } from 'node:crypto'
import { testGateway, type TestGateway } from '../testing/gateway'
import { outcomeOf } from '../testing/outcome'
import { makeUsesOlder } from '../testing/refresh-tokens'
import { createCall, type TestWallet } from '../testing/wallet'

const HOUR = 3_600
const DAY = 86_400
const MONTH = 30 * DAY

type Token = { text: string; until: number }
type Session = { isEnded: boolean; bearers: Token[]; refreshes: (Token & { isUsed: boolean })[] }
type Model = { now: number; sessions: Session[] }
type Real = { replicas: TestGateway[]; wallet: TestWallet }
type Command = fc.AsyncCommand<Model, Real>

const good = [200, undefined]
const revoked = [403, 'REVOKED_TOKEN']
const expired = [401, 'EXPIRED_TOKEN']
const invalid = [401, 'INVALID_TOKEN']

let real: Real
beforeAll(async () => {
  const gateway = await testGateway({ inProcess: true })
  const replica = await testGateway({ beside: gateway, inProcess: true })
  const wallet = gateway.wallet()
  await gateway.fund(wallet.address, 1_000_000)
  // Ahead of the database's clock; only the commands advance it, by a second each.
  gateway.clock.stop()
  gateway.clock.advance(DAY)
  real = { replicas: [gateway, replica], wallet }
})
afterAll(closeAll)

const refresh = ({ api }: TestGateway, refresh_token: string) =>
  api.post('/auth/refresh').send({ refresh_token })
const call = ({ api }: TestGateway, token: string) => createCall(api, token)()
const logout = ({ api }: TestGateway, token: string) =>
  api.post('/auth/logout').set('Authorization', `Bearer ${token}`)

function keep(session: Session, tokens: SessionTokens, now: number) {
  session.bearers.push({ text: tokens.token, until: now + HOUR })
  session.refreshes.push({ text: tokens.refresh_token, until: now + MONTH, isUsed: false })
}

function shown(request: 'logout' | 'call', { now }: Model, session: Session, bearer: Token) {
  const outcome = now >= bearer.until ? expired : session.isEnded ? revoked : good
  seen.add(nameOf(request, outcome))
  return outcome
}

/** Results that occurred: an untested result proves nothing. */
const seen = new Set<string>()
const nameOf = (request: string, outcome: unknown[]) => `${request}: ${outcome.join(' ').trim()}`

const pick = <T>(from: readonly T[], index: number) => from[index % from.length]!

/** Of a request that arrives later than ten seconds after earlier uses. */
function use(model: Model, session: Session, token: Session['refreshes'][number]) {
  const isAlive = model.now < token.until
  const outcome = session.isEnded ? revoked : token.isUsed ? invalid : !isAlive ? expired : good
  if (token.isUsed) session.isEnded = true
  if (outcome === good) token.isUsed = true
  seen.add(nameOf('refresh', outcome))
  return outcome
}

const command = (
  name: string,
  act: (session: Session, on: TestGateway, model: Model, real: Real) => Promise<void>,
  { session, replica }: { session: number; replica: number },
): Command => ({
  check: ({ sessions }) => sessions.length > 0,
  async run(model, parts) {
    parts.replicas[0]!.clock.advance(1)
    await makeUsesOlder(parts.replicas[0]!, 20)
    model.now++
    await act(pick(model.sessions, session), pick(parts.replicas, replica), model, parts)
  },
  toString: () => `${name}(session ${session}, replica ${replica})`,
})

const where = fc.record({ session: fc.nat(5), replica: fc.nat(1) })
const whereAndWhich = fc.record({ session: fc.nat(5), replica: fc.nat(1), which: fc.nat(9) })

const commands: fc.Arbitrary<Command>[] = [
  fc.nat(1).map((replica) => ({
    check: () => true,
    async run(model, { replicas, wallet }) {
      const body = await wallet.login()
      const answer = await pick(replicas, replica).api.post('/auth/login').send(body)
      expect(outcomeOf(answer)).toEqual(good)
      const session = { isEnded: false, bearers: [], refreshes: [] }
      model.sessions.push(session)
      keep(session, answer.body as SessionTokens, model.now)
    },
    toString: () => `signIn(replica ${replica})`,
  })),

  where.map((at) =>
    command(
      'refreshWithNewest',
      async (session, on, model) => {
        const token = session.refreshes.at(-1)!
        const answer = await refresh(on, token.text)
        expect(outcomeOf(answer)).toEqual(use(model, session, token))
        if (answer.status === 200) keep(session, answer.body as SessionTokens, model.now)
      },
      at,
    ),
  ),

  whereAndWhich.map(({ which, ...at }) =>
    command(
      `refreshWithAny(${which})`,
      async (session, on, model) => {
        const token = pick(session.refreshes, which)
        const answer = await refresh(on, token.text)
        expect(outcomeOf(answer)).toEqual(use(model, session, token))
        if (answer.status === 200) keep(session, answer.body as SessionTokens, model.now)
      },
      at,
    ),
  ),

  // One of several refreshes within ten seconds wins, and the others end nothing.
  where.map((at) =>
    command(
      'refreshAtOnce',
      async (session, on, model, { replicas }) => {
        const token = session.refreshes.at(-1)!
        const answers = await Promise.all(
          [0, 1, 0, 1].map((index) => refresh(pick(replicas, index), token.text)),
        )
        answers.push(await refresh(on, token.text))
        const outcome = use(model, session, token)
        const won = answers.filter(({ status }) => status === 200)
        expect(won).toHaveLength(outcome === good ? 1 : 0)
        const lost = answers.filter(({ status }) => status !== 200).map(outcomeOf)
        if (outcome === good) {
          expect(lost).toEqual([invalid, invalid, invalid, invalid])
          keep(session, won[0]!.body as SessionTokens, model.now)
        } else if (outcome === invalid) expect(lost).toEqual(expect.arrayContaining([invalid]))
        else expect(lost).toEqual(answers.map(() => outcome))
      },
      at,
    ),
  ),

  whereAndWhich.map(({ which, ...at }) =>
    command(
      `refreshWithForeign(${which})`,
      async (session, on) => {
        const bearer = pick(session.bearers, which).text
        expect(outcomeOf(await refresh(on, randomBytes(32).toString('base64url')))).toEqual(invalid)
        expect(outcomeOf(await refresh(on, bearer))).toEqual([400, 'INVALID_REQUEST'])
        expect(outcomeOf(await call(on, pick(session.refreshes, which).text))).toEqual(invalid)
      },
      at,
    ),
  ),

  whereAndWhich.map(({ which, ...at }) =>
    command(
      `logout(${which})`,
      async (session, on, model) => {
        const bearer = pick(session.bearers, which)
        const outcome = shown('logout', model, session, bearer)
        expect(outcomeOf(await logout(on, bearer.text))).toEqual(outcome)
        if (outcome === good) session.isEnded = true
      },
      at,
    ),
  ),

  whereAndWhich.map(({ which, ...at }) =>
    command(
      `call(${which})`,
      async (session, on, model) => {
        const bearer = pick(session.bearers, which)
        expect(outcomeOf(await call(on, bearer.text))).toEqual(shown('call', model, session, bearer))
      },
      at,
    ),
  ),

  where.map((at) =>
    command(
      'callWithNewest',
      async (session, on, model) => {
        const bearer = session.bearers.at(-1)!
        expect(outcomeOf(await call(on, bearer.text))).toEqual(shown('call', model, session, bearer))
      },
      at,
    ),
  ),

  fc.constantFrom(HOUR - 3, HOUR, MONTH - 3, MONTH, DAY).map((seconds) => ({
    check: () => true,
    run(model, { replicas }) {
      replicas[0]!.clock.advance(seconds)
      model.now += seconds
      return Promise.resolve()
    },
    toString: () => `advance(${seconds} s)`,
  })),
]

test('sessions on two replicas behave as the model, for any sequence of commands', async () => {
  const { replicas } = real
  const { pool, clock } = replicas[0]!
  await fc.assert(
    fc.asyncProperty(fc.commands(commands, { maxCommands: 30, size: 'max' }), async (steps) => {
      const model: Model = { now: clock.now().getTime() / 1000, sessions: [] }
      await fc.asyncModelRun(() => ({ model, real }), steps)

      const unused =
        'SELECT session_id FROM refresh_tokens WHERE used_at IS NULL GROUP BY 1 HAVING count(*) > 1'
      expect((await pool.query(unused)).rows).toEqual([])
    }),
    { numRuns: 60 },
  )
  expect([...seen].sort()).toEqual(
    [
      ...['call', 'logout', 'refresh'].flatMap((request) =>
        [good, expired, revoked].map((end) => nameOf(request, end)),
      ),
      nameOf('refresh', invalid),
    ].sort(),
  )
})
