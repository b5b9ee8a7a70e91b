import { createLease } from './lease'

const DAY = 86_400_000

function leaseAt() {
  const at = { monotonic: 5_000, wall: 20_000 * DAY, database: 30_000 * DAY }
  const lease = createLease({ monotonicMs: () => at.monotonic, wallMs: () => at.wall })
  const pass = (ms: number, clocks: (keyof typeof at)[] = ['monotonic', 'wall', 'database']) => {
    for (const clock of clocks) at[clock] += ms
  }
  const beat = (latencyMs = 0) => {
    const acknowledge = lease.beginHeartbeat()
    const heartbeat = new Date(at.database)
    pass(latencyMs)
    acknowledge(heartbeat)
  }
  return { ...lease, pass, beat }
}

describe('a reservation is held', () => {
  test('while heartbeats are acknowledged in time', () => {
    const { isHeld, term, beat, pass } = leaseAt()
    beat()
    const reserved = term()
    for (let n = 0; n < 100; n++) {
      pass(2_000)
      beat(3_900)
      expect(isHeld(reserved)).toBe(true)
    }
  })

  test('up to half of DEAD_AFTER_SECONDS after the last acknowledged heartbeat was sent', () => {
    const { isHeld, term, beat, pass } = leaseAt()
    beat(4_000)
    pass(6_000)
    expect(isHeld(term())).toBe(true)
    pass(1)
    expect(isHeld(term())).toBe(false)
  })
})

describe('a reservation is not held', () => {
  test('before the first heartbeat', () => {
    const { isHeld, term } = leaseAt()
    expect(isHeld(term())).toBe(false)
  })

  test('while a heartbeat is sent but not acknowledged', () => {
    const { isHeld, term, beat, pass, beginHeartbeat } = leaseAt()
    beat()
    pass(9_000)
    beginHeartbeat()
    pass(1_001)
    expect(isHeld(term())).toBe(false)
  })

  test.each<[string, ('monotonic' | 'wall' | 'database')[], number]>([
    ['the process was stopped', ['monotonic', 'wall', 'database'], 25_000],
    ['the machine was suspended, and its monotonic clock with it', ['wall', 'database'], 25_000],
    ['the wall clock was set back while the process was stopped', ['monotonic', 'database'], 25_000],
    ['the wall clock stepped ahead', ['wall'], 600_000],
    ['the wall clock stepped back', ['wall'], -600_000],
  ])('after %s', (_, clocks, ms) => {
    const { isHeld, term, beat, pass } = leaseAt()
    beat()
    const reserved = term()
    pass(ms, clocks)
    expect(isHeld(reserved)).toBe(false)
    beat()
    expect([isHeld(reserved), isHeld(term())]).toEqual([false, true])
  })

  test.each([
    ['stepped ahead', 30_000],
    ['stepped back', -30_000],
  ])('after the clock of Postgres %s between two heartbeats', (_, ms) => {
    const { isHeld, term, beat, pass } = leaseAt()
    beat()
    const reserved = term()
    pass(ms, ['database'])
    pass(2_000)
    beat()
    expect([isHeld(reserved), isHeld(term())]).toEqual([false, true])
  })

  test('if it was sent in one term and written in the next', () => {
    const { isHeld, term, beat, pass } = leaseAt()
    beat()
    pass(11_000)
    const reserved = term()
    beat()
    expect(isHeld(reserved)).toBe(false)
  })
})

describe('the clock of Postgres', () => {
  const isSteady = ({ beginReading, pass }: ReturnType<typeof leaseAt>, at: () => Date, latencyMs = 0) => {
    const read = beginReading()
    const now = at()
    pass(latencyMs)
    return read(now)
  }
  const opened = () => {
    const lease = leaseAt()
    let ahead = 0
    const started = 30_000 * DAY
    let passed = 0
    const pass = (ms: number) => (lease.pass(ms), (passed += ms))
    const at = () => new Date(started + passed + ahead)
    return { lease: { ...lease, pass }, at, step: (ms: number) => (ahead += ms) }
  }

  test('is trusted while it advances like ours, even if readings are late', () => {
    const { lease, at } = opened()
    for (const latencyMs of [0, 60_000, 10, 25_000, 0]) {
      lease.pass(2_000)
      expect(isSteady(lease, at, latencyMs)).toBe(true)
    }
  })

  test.each([30_000, -30_000])('is not trusted for twenty seconds after a step of %i ms', (ms) => {
    const { lease, at, step } = opened()
    expect(isSteady(lease, at)).toBe(true)
    step(ms)
    lease.pass(2_000)
    expect(isSteady(lease, at)).toBe(false)
    lease.pass(19_000)
    expect(isSteady(lease, at)).toBe(false)
    lease.pass(2_000)
    expect(isSteady(lease, at)).toBe(true)
  })
})
