import { shown } from '../chart'
import { type Row } from '../row'
import { markdownTable } from '../table'
import { perCallOf, replicasOf, type Replicas } from './figures'
import { chains, inputs, prices, statedInputs, statedPrices } from './inputs'
import { chainNeedsOf, costPerMillion, needsOf, predictRate, type Needs, type PerCall } from './model'

const SIZES = [1_000, 100_000, 1_000_000] as const
const CREDITS = [100, 1_000, 10_000] as const

/** The computed blocks of docs/scaling.md, by name. */
export function computeBlocks(rows: readonly Row[]): Record<string, string> {
  const perCall = perCallOf(rows)
  const replicas = replicasOf(rows)
  const computed = (name: string, block: (perCall: PerCall) => string) => [
    name,
    'missing' in perCall ? notYet('paid-calls', perCall.missing) : block(perCall),
  ]
  return Object.fromEntries([
    computed('measured', measuredTable),
    computed('needs', needsTable),
    computed('cost', costTable),
    computed('check', (measured) =>
      'missing' in replicas ? notYet('replicas', replicas.missing) : checkTable(measured, replicas),
    ),
    ['chains', chainsTable()],
    ['inputs', inputsTable()],
  ]) as Record<string, string>
}

const notYet = (benchmark: string, missing: readonly string[]) =>
  `Not computed: run \`pnpm bench ${benchmark}\`. docs/benchmarks.json has no ${missing.map((name) => `"${name}"`).join(', ')}.\n`

const measuredTable = (perCall: PerCall) =>
  markdownTable(
    ['For 1,000 paid calls', 'Measured'],
    [
      ['Gateway', `${shown(1000 * perCall.gatewayCpuSeconds)} CPU s`],
      [
        'Postgres',
        `${shown(1000 * perCall.postgresCpuSeconds)} CPU s, ${bytes(1000 * perCall.walBytes)} of WAL`,
      ],
      [
        'Redis',
        `${shown(1000 * perCall.redisCpuSeconds)} CPU s, ${shown(1000 * perCall.redisCommands)} commands`,
      ],
    ],
  )

const needLines: [name: string, cell: (needs: Needs) => string][] = [
  ['Gateway processes', ({ gateways }) => shown(gateways)],
  ['Postgres cores', ({ postgresCores }) => shown(postgresCores)],
  ['WAL', ({ walBytesPerSecond }) => `${bytes(walBytesPerSecond)}/s`],
  ['Rows of `usage`', ({ usageBytesPerDay }) => `${bytes(usageBytesPerDay)} a day`],
  ['Databases, for their CPU', ({ databases }) => shown(databases.forCpu)],
  ['Databases, for their WAL', ({ databases }) => shown(databases.forWal)],
  ['Databases, for 400 days of `usage`', ({ databases }) => shown(databases.forUsage)],
  ['Databases, for 7 days of `usage`', ({ databases }) => shown(databases.forShortUsage)],
  ['**Databases, with 7 days**', ({ databases }) => `**${shown(databases.withShortUsage)}**`],
  ['Redis commands', ({ redisCommandsPerSecond }) => `${shown(redisCommandsPerSecond)}/s`],
  ['Redis servers', ({ redisServers }) => shown(redisServers)],
  ['Network, all directions', ({ networkBitsPerSecond }) => `${shown(networkBitsPerSecond / 1e9)} Gbit/s`],
  ['Payments, 100 calls each', ({ paymentsPerSecond }) => `${shown(paymentsPerSecond)}/s`],
  ['Facilitator cores', ({ facilitators }) => shown(facilitators)],
  ['Cores of its Postgres', ({ settlementPostgresCores }) => shown(settlementPostgresCores)],
  ['Gas', ({ gasPerSecond }) => `${shown(gasPerSecond / 1e6)} million/s`],
]

function needsTable(perCall: PerCall): string {
  const sizes = SIZES.map((size) => needsOf(size, perCall, inputs))
  const head = ['Paid calls per second', ...SIZES.map(shown)]
  return markdownTable(
    head,
    needLines.map(([name, cell]) => [name, ...sizes.map(cell)]),
  )
}

function chainsTable(): string {
  const head = [
    'Chain',
    'Payments/s, a fifth of its blocks',
    ...SIZES.map((size) => `${shown(size)} calls/s`),
  ]
  const lines = chains.map((chain) => {
    const sizes = SIZES.map((size) => chainNeedsOf(size, chain, inputs))
    return [
      chain.name,
      shown(sizes[0]?.paymentsPerSecond ?? 0),
      ...sizes.map((need) => {
        const signers = chain.name.startsWith('Cosmos') ? '' : `, ${count(need.signers, 'signer')}`
        return `${count(need.chains, 'chain')}${signers}; or ${shown(need.creditsForOneChain)} calls a payment`
      }),
    ]
  })
  return markdownTable(head, lines)
}

const costLines = [
  ['Gateway', 'gateway'],
  ['Postgres and standby', 'postgres'],
  ['Redis and standby', 'redis'],
  ['Disk, 400 days of `usage`', 'disk'],
  ['Network', 'network'],
  ['Facilitator and its Postgres', 'settlement'],
  ['Gas', 'gas'],
  ['**Total**', 'total'],
] as const

function costTable(perCall: PerCall): string {
  const costs = CREDITS.map((creditsPerPayment) =>
    costPerMillion(perCall, { ...inputs, creditsPerPayment }, prices),
  )
  const head = [
    'US dollars per million calls',
    ...CREDITS.map((credits) => `${shown(credits)} calls a payment`),
  ]
  return markdownTable(
    head,
    costLines.map(([name, part]) => [name, ...costs.map((cost) => cost[part].toFixed(3))]),
  )
}

function checkTable(perCall: PerCall, { cores, otherCpuSeconds, rates }: Replicas): string {
  const lines = rates.map(({ gateways, callsPerSecond }) => {
    const predicted = predictRate({ gateways, cores, otherCpuSeconds }, perCall)
    const error = (100 * (predicted - callsPerSecond)) / callsPerSecond
    return [
      count(gateways, 'gateway'),
      shown(callsPerSecond),
      shown(predicted),
      `${error > 0 ? '+' : ''}${error.toFixed(0)} %`,
    ]
  })
  return markdownTable(
    [`On ${cores} cores`, 'Measured calls/s', 'Model calls/s', 'Error of the model'],
    lines,
  )
}

function inputsTable(): string {
  const all = Object.entries({ ...statedInputs, ...statedPrices })
  const lines = all.map(([name, { value, unit, reason }]) => [`\`${name}\``, quantity(value, unit), reason])
  return markdownTable(['Input', 'Value', 'What it is'], lines)
}

const quantity = (value: number, unit: string) =>
  unit.startsWith('bytes') && value >= 1e6
    ? `${bytes(value)}${unit.slice('bytes'.length)}`
    : `${Math.abs(value) < 0.001 ? value.toExponential(1) : shown(value)} ${unit}`

const count = (number: number, noun: string) => `${shown(number)} ${noun}${number === 1 ? '' : 's'}`

const UNITS = ['bytes', 'kB', 'MB', 'GB', 'TB', 'PB']

function bytes(value: number): string {
  const power = Math.min(UNITS.length - 1, Math.max(0, Math.floor(Math.log10(value) / 3)))
  return `${shown(value / 1000 ** power)} ${UNITS[power] ?? ''}`
}
