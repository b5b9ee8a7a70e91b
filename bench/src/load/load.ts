import { withCpuSeconds } from '../processes'
import { runWrk } from '../wrk'
import { type LoadRequest } from './request'
import { wrkScript } from './wrk-script'

export type Contender = {
  name: string
  url: string
  pids: readonly number[]
  requests: readonly LoadRequest[]
}

/** `answers`: with a status below 400. `cpuSeconds`: of the contender per 1,000 answers. */
export type Load = {
  answers: number
  failedAnswers: number
  callsPerSecond: number
  bytesPerSecond: number
  p50Ms: number
  p99Ms: number
  cpuSeconds: number
  /** Of the other processes, per 1,000 answers. */
  others: Record<string, number>
  /** What else one answer cost. */
  costs: Record<string, number>
}

export type LoadOptions = {
  connections: number
  seconds: number
  folder: string
  /** If answers with a status from 400 do not end the benchmark. */
  mayFail?: boolean
  /** Other processes whose CPU is reported. */
  others?: Readonly<Record<string, number>>
}

/** Loads a contender with wrk. @throws Error if an answer has a status from 400, or a connection breaks */
export async function loadByWrk(contender: Contender, options: LoadOptions): Promise<Load> {
  const { name, url, pids, requests } = contender
  const { connections, seconds, folder, mayFail = false, others = {} } = options
  const own = Object.fromEntries(pids.map((pid) => [`own ${pid}`, pid]))
  const { result, cpu } = await withCpuSeconds<string, Awaited<ReturnType<typeof runWrk>>>(
    { ...own, ...others },
    () => runWrk({ url, connections, seconds, folder, script: wrkScript(requests) }),
  )
  const { failedAnswers, socketErrors, latencyMs } = result
  const answers = result.requests - failedAnswers
  const isBroken = Object.values(socketErrors).some((count) => count > 0)
  if (isBroken || answers === 0 || (failedAnswers > 0 && !mayFail))
    throw new Error(
      `${name}: ${failedAnswers} of ${result.requests} answers failed; ${JSON.stringify(socketErrors)}`,
    )
  const perThousand = (label: string) => (1000 * (cpu[label] ?? 0)) / answers
  return {
    answers,
    failedAnswers,
    callsPerSecond: (result.requestsPerSecond * answers) / result.requests,
    bytesPerSecond: result.bytesPerSecond,
    p50Ms: latencyMs.p50,
    p99Ms: latencyMs.p99,
    cpuSeconds: Object.keys(own).reduce((sum, label) => sum + perThousand(label), 0),
    others: Object.fromEntries(Object.keys(others).map((label) => [label, perThousand(label)])),
    costs: {},
  }
}
