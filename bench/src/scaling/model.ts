import { type ChainLimits, type Inputs, type Prices } from './inputs'

/** Measured, for one paid call. */
export type PerCall = {
  gatewayCpuSeconds: number
  postgresCpuSeconds: number
  redisCpuSeconds: number
  walBytes: number
  redisCommands: number
}

const SECONDS_PER_DAY = 86_400
const CALLS_PER_MILLION = 1_000_000

/** What this many paid calls per second need, without the copies of standbys. */
export function needsOf(callsPerSecond: number, perCall: PerCall, inputs: Inputs) {
  const servers = (amount: number, ofOne: number) => Math.ceil(amount / ofOne - 1e-9)
  const cores = (cpuSeconds: number) => (callsPerSecond * cpuSeconds) / inputs.utilization
  const usageBytesPerDay = callsPerSecond * SECONDS_PER_DAY * inputs.usageRowBytes
  const diskFor = (days: number) => servers(usageBytesPerDay * days, inputs.diskBytesPerDatabase)
  const databases = {
    forCpu: servers(cores(perCall.postgresCpuSeconds), inputs.coresPerDatabase),
    forWal: servers(callsPerSecond * perCall.walBytes, inputs.walBytesPerDatabase),
    forUsage: diskFor(inputs.usageDays),
    forShortUsage: diskFor(inputs.shortUsageDays),
  }
  const paymentsPerSecond = callsPerSecond / inputs.creditsPerPayment
  const paymentCores = (cpuSeconds: number) => (paymentsPerSecond * cpuSeconds) / inputs.utilization
  return {
    callsPerSecond,
    // One process has one event loop, so one core.
    gateways: servers(cores(perCall.gatewayCpuSeconds), 1),
    postgresCores: cores(perCall.postgresCpuSeconds),
    walBytesPerSecond: callsPerSecond * perCall.walBytes,
    usageBytesPerDay,
    databases: {
      ...databases,
      withShortUsage: Math.max(databases.forCpu, databases.forWal, databases.forShortUsage),
    },
    redisCommandsPerSecond: callsPerSecond * perCall.redisCommands,
    redisServers: servers(cores(perCall.redisCpuSeconds), 1),
    networkBitsPerSecond: 8 * callsPerSecond * inputs.callBytes,
    paymentsPerSecond,
    facilitators: servers(paymentCores(inputs.facilitatorCpuSeconds), 1),
    settlementPostgresCores: paymentCores(inputs.settlementPostgresCpuSeconds),
    gasPerSecond: paymentsPerSecond * inputs.gasPerPayment,
  }
}
export type Needs = ReturnType<typeof needsOf>

/** What one chain can carry for us, and how many of it the calls need; or how many calls a payment must buy for one. */
export function chainNeedsOf(callsPerSecond: number, chain: ChainLimits, inputs: Inputs) {
  const paymentsPerSecond = (inputs.blockShare * chain.blockGas) / chain.gasPerPayment / chain.blockSeconds
  const wanted = callsPerSecond / inputs.creditsPerPayment
  const ofOneSigner = inputs.pendingPaymentsPerSigner / (inputs.blocksUntilMined * chain.blockSeconds)
  return {
    paymentsPerSecond,
    chains: Math.ceil(wanted / paymentsPerSecond),
    creditsForOneChain: Math.max(inputs.creditsPerPayment, Math.ceil(callsPerSecond / paymentsPerSecond)),
    /** At the plan of the inputs, over all chains. */
    signers: Math.ceil(wanted / ofOneSigner),
  }
}

/** US dollars for a million calls, on cores at the planned utilization. */
export function costPerMillion(
  perCall: PerCall,
  inputs: Inputs,
  prices: Prices,
  usageDays = inputs.usageDays,
) {
  const cpu = (seconds: number) => (seconds / inputs.utilization / 3_600) * prices.coreHour
  const payments = CALLS_PER_MILLION / inputs.creditsPerPayment
  const gigabytes = (bytesPerCall: number) => (CALLS_PER_MILLION * bytesPerCall) / 1e9
  const parts = {
    gateway: cpu(CALLS_PER_MILLION * perCall.gatewayCpuSeconds),
    postgres: inputs.copies * cpu(CALLS_PER_MILLION * perCall.postgresCpuSeconds),
    redis: inputs.copies * cpu(CALLS_PER_MILLION * perCall.redisCpuSeconds),
    disk: inputs.copies * gigabytes(inputs.usageRowBytes) * (usageDays / 30) * prices.diskGigabyteMonth,
    network: gigabytes(inputs.callBytes) * prices.networkGigabyte,
    settlement: cpu(
      payments * (inputs.facilitatorCpuSeconds + inputs.copies * inputs.settlementPostgresCpuSeconds),
    ),
    gas: payments * inputs.gasPerPayment * prices.gas,
  }
  return { ...parts, total: Object.values(parts).reduce((sum, part) => sum + part, 0) }
}

/**
 * Calls per second of gateway processes that share the cores of one machine with everything else: the processes are busy, or
 * the machine is. `otherCpuSeconds` is what the load generator, the upstream and nginx use for a call.
 */
export function predictRate(
  { gateways, cores, otherCpuSeconds }: { gateways: number; cores: number; otherCpuSeconds: number },
  perCall: PerCall,
): number {
  const everything =
    perCall.gatewayCpuSeconds + perCall.postgresCpuSeconds + perCall.redisCpuSeconds + otherCpuSeconds
  return Math.min(gateways / perCall.gatewayCpuSeconds, cores / everything)
}
