import { chains, inputs, prices, type Inputs } from './inputs'
import { chainNeedsOf, costPerMillion, needsOf, predictRate, type PerCall } from './model'

/** Round figures, so that the table can be checked by hand. */
const perCall: PerCall = {
  gatewayCpuSeconds: 0.000_3,
  postgresCpuSeconds: 0.000_096,
  redisCpuSeconds: 0.000_03,
  walBytes: 500,
  redisCommands: 0.5,
}
const round: Inputs = {
  ...inputs,
  utilization: 0.6,
  coresPerDatabase: 16,
  walBytesPerDatabase: 100e6,
  diskBytesPerDatabase: 4e12,
  usageRowBytes: 250,
  usageDays: 400,
  shortUsageDays: 7,
  callBytes: 3_000,
  creditsPerPayment: 100,
  facilitatorCpuSeconds: 0.006,
  settlementPostgresCpuSeconds: 0.003,
  gasPerPayment: 50_000,
}

test.each([
  // calls/s, gateways, cores of Postgres, databases by CPU, WAL, 400 days, 7 days, together, Redis, payments/s, facilitators, gas/s
  [1_000, 1, 0.16, 1, 1, 3, 1, 1, 1, 10, 1, 500_000],
  [100_000, 50, 16, 1, 1, 216, 4, 4, 5, 1_000, 10, 50_000_000],
  [1_000_000, 500, 160, 10, 5, 2_160, 38, 38, 50, 10_000, 100, 500_000_000],
])(
  '%d calls per second',
  (calls, gateways, cores, cpu, wal, long, short, databases, redis, paid, facilitators, gas) => {
    const needs = needsOf(calls, perCall, round)
    expect(needs).toMatchObject({
      gateways,
      databases: {
        forCpu: cpu,
        forWal: wal,
        forUsage: long,
        forShortUsage: short,
        withShortUsage: databases,
      },
      redisServers: redis,
      paymentsPerSecond: paid,
      facilitators,
      gasPerSecond: gas,
    })
    expect(needs.postgresCores).toBeCloseTo(cores)
    expect(needs.settlementPostgresCores).toBeCloseTo((paid * 0.003) / 0.6)
    expect(needs.networkBitsPerSecond).toBe(calls * 24_000)
    expect(needs.redisCommandsPerSecond).toBe(calls / 2)
  },
)

test('a chain limits the payments, and a larger plan needs fewer', () => {
  const chain = { name: 'a rollup', blockGas: 100e6, blockSeconds: 2, gasPerPayment: 50_000 }
  const given = { ...round, blockShare: 0.2, pendingPaymentsPerSigner: 800, blocksUntilMined: 2 }
  expect(chainNeedsOf(100_000, chain, given)).toEqual({
    paymentsPerSecond: 200,
    chains: 5,
    creditsForOneChain: 500,
    signers: 5,
  })
  expect(chainNeedsOf(1_000, chain, given)).toMatchObject({ chains: 1, creditsForOneChain: 100, signers: 1 })
  expect(chainNeedsOf(100_000, chain, { ...given, creditsPerPayment: 500 })).toMatchObject({ chains: 1 })
})

test('the cost of a million calls is the sum of its parts, and gas falls with the calls of a payment', () => {
  const given = { ...round, copies: 2 }
  const money = { ...prices, coreHour: 0.36, diskGigabyteMonth: 0.1, networkGigabyte: 0.02, gas: 3e-8 }
  const { total, ...parts } = costPerMillion(perCall, given, money)
  // 300 CPU s at 60 % are 500 s of a core, at 0.0001 each.
  expect(parts.gateway).toBeCloseTo(0.05)
  expect(parts.postgres).toBeCloseTo(0.032)
  expect(parts.redis).toBeCloseTo(0.01)
  expect(parts.disk).toBeCloseTo(2 * 0.25 * (400 / 30) * 0.1)
  expect(parts.network).toBeCloseTo(0.06)
  expect(parts.gas).toBeCloseTo(15)
  expect(total).toBeCloseTo(Object.values(parts).reduce((sum, part) => sum + part, 0))
  expect(costPerMillion(perCall, { ...given, creditsPerPayment: 10_000 }, money).gas).toBeCloseTo(0.15)
})

test.each([
  // The process is the limit.
  [1, 16, 3_333],
  [4, 16, 13_333],
  // The machine is.
  [1, 1, 2_000],
  [2, 2, 4_000],
  [4, 2, 4_000],
])('%d gateways on %d cores answer %d calls per second', (gateways, cores, expected) => {
  const otherCpuSeconds = 0.000_074
  expect(Math.round(predictRate({ gateways, cores, otherCpuSeconds }, perCall))).toBe(expected)
})

test('every stated input is positive', () => {
  const values = [
    ...Object.values(inputs),
    ...Object.values(prices),
    ...chains.map(({ blockGas }) => blockGas),
  ]
  expect(values.every((value) => value > 0)).toBe(true)
})
