/** A stated input of the model: nothing of it is measured by `pnpm bench`. */
type Input = { value: number; unit: string; reason: string }

const input = (value: number, unit: string, reason: string): Input => ({ value, unit, reason })

export const statedInputs = {
  utilization: input(
    0.6,
    'of a core',
    'The average load of a core. The rest is for peaks and for a lost process.',
  ),
  coresPerDatabase: input(16, 'cores', 'One Postgres primary.'),
  walBytesPerDatabase: input(100e6, 'bytes/s', 'A network disk that flushes at each commit.'),
  diskBytesPerDatabase: input(4e12, 'bytes', 'Larger databases take hours to restore.'),
  usageRowBytes: input(
    300,
    'bytes',
    'A row of `usage` with its indexes, 234 bytes when written once, and dead versions.',
  ),
  usageDays: input(400, 'days', 'The default of RETENTION_USAGE_DAYS.'),
  shortUsageDays: input(7, 'days', 'RETENTION_USAGE_DAYS where older calls are exported.'),
  copies: input(2, 'servers', 'Each Postgres and Redis has a standby.'),
  callBytes: input(
    3_000,
    'bytes',
    'A call and its answer, to the client and to the upstream, with headers and TLS.',
  ),
  creditsPerPayment: input(
    100,
    'calls',
    'A payment of 0.01 USDC, a call of one credit: the plan of `npm start`.',
  ),
  facilitatorCpuSeconds: input(0.0065, 'CPU s', 'The facilitator, for one payment of 400 at once.'),
  settlementPostgresCpuSeconds: input(0.0033, 'CPU s', 'Its Postgres, for the same.'),
  gasPerPayment: input(46_500, 'gas', 'A payment in a batch of 50; a payment alone takes 51,000.'),
  pendingPaymentsPerSigner: input(800, 'payments', 'Of one signer: 16 transactions of 50 payments.'),
  blocksUntilMined: input(2, 'blocks', 'From the broadcast until the transaction is mined and confirmed.'),
  otherCpuSeconds: input(
    0.0001,
    'CPU s',
    'The load generator, nginx and the upstream, for one call: only for the check, and only if not measured.',
  ),
  blockShare: input(0.2, 'of a block', 'More of each block raises the price of gas for us and for others.'),
} as const satisfies Record<string, Input>

export type Inputs = Record<keyof typeof statedInputs, number>

export const inputs = Object.fromEntries(
  Object.entries(statedInputs).map(([name, { value }]) => [name, value]),
) as Inputs

/** Public limits of chains; read the current ones from the chain. */
export type ChainLimits = { name: string; blockGas: number; blockSeconds: number; gasPerPayment: number }
export const chains: readonly ChainLimits[] = [
  { name: 'rollup, 150 million gas each 2 s', blockGas: 150e6, blockSeconds: 2, gasPerPayment: 46_500 },
  { name: 'Ethereum, 60 million gas each 12 s', blockGas: 60e6, blockSeconds: 12, gasPerPayment: 46_500 },
  { name: 'Cosmos chain, 75 million gas each 6 s', blockGas: 75e6, blockSeconds: 6, gasPerPayment: 100_000 },
]

/** In US dollars. */
export const statedPrices = {
  coreHour: input(0.04, 'USD', 'A core with 2 to 4 GiB of memory, for one hour.'),
  diskGigabyteMonth: input(0.1, 'USD', '10^9 bytes of network SSD for 30 days.'),
  networkGigabyte: input(0.02, 'USD', '10^9 bytes of outgoing traffic.'),
  gas: input(
    0.01e-9 * 3_000,
    'USD',
    'One gas on a rollup: 0.01 gwei at 3,000 USD for one ether, data fee included.',
  ),
  payment: input(0.01, 'USD', 'What the payer pays for 100 calls.'),
} as const satisfies Record<string, Input>

export type Prices = Record<keyof typeof statedPrices, number>

export const prices = Object.fromEntries(
  Object.entries(statedPrices).map(([name, { value }]) => [name, value]),
) as Prices
