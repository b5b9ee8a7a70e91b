import { requireFrom } from './borrowed.mjs'

const { Pool } = requireFrom('packages/chains')('undici')

/**
 * Sends each body once, `connections` at a time, and returns the measurements. `cpuSeconds` reads the processor time of the
 * measured process, `chain` the requests to its chain.
 */
export async function measure({ url, path, headers = {}, bodies, connections, isRight, cpuSeconds, chain }) {
  const pool = new Pool(url, { connections, pipelining: 1 })
  const latencies = []
  const wrong = []
  let cached = 0
  let next = 0

  async function lane() {
    while (next < bodies.length) {
      const body = bodies[next++]
      const sentAt = performance.now()
      const answer = await pool.request({
        method: 'POST',
        path,
        headers: { 'content-type': 'application/json', ...headers },
        body,
      })
      const text = await answer.body.text()
      latencies.push(performance.now() - sentAt)
      if (answer.statusCode !== 200 || !isRight(text))
        wrong.push(`${answer.statusCode} ${text.slice(0, 200)}`)
      if (text.includes('"cachedResult":true')) cached++
    }
  }

  const before = { cpu: await cpuSeconds(), ...chain?.() }
  const startedAt = performance.now()
  await Promise.all(Array.from({ length: connections }, lane))
  const seconds = (performance.now() - startedAt) / 1000
  const after = { cpu: await cpuSeconds(), ...chain?.() }
  await pool.close()
  return {
    latencies,
    wrong,
    cached,
    perSecond: bodies.length / seconds,
    perCore: bodies.length / (after.cpu - before.cpu),
    calls: after.calls - before.calls,
    roundTrips: after.roundTrips - before.roundTrips,
  }
}

/** Combines the rounds of one line: the rates of the median round, and the latencies of all responses. */
export function together(rounds) {
  const latencies = rounds.flatMap((round) => round.latencies).sort((a, b) => a - b)
  const sum = (name) => rounds.reduce((total, round) => total + round[name], 0)
  const middle = (name) =>
    rounds.map((round) => round[name]).sort((a, b) => a - b)[Math.floor(rounds.length / 2)]
  const answers = latencies.length
  return {
    answers,
    wrong: rounds.flatMap((round) => round.wrong),
    perCore: middle('perCore'),
    perCoreOfRounds: rounds.map((round) => Math.round(round.perCore)),
    perSecond: middle('perSecond'),
    p50Ms: latencies[Math.floor(answers / 2)],
    p99Ms: latencies[Math.floor(answers * 0.99)],
    cachedShare: sum('cached') / answers,
    callsEach: sum('calls') / answers,
    roundTripsEach: sum('roundTrips') / answers,
  }
}
