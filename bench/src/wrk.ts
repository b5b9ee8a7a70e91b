import { randomUUID } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { startProcess } from '@tollgate/processes'
import { requireProgram } from './programs'

export type WrkOptions = {
  url: string
  connections: number
  seconds: number
  /** Of wrk: at most one for each connection. */
  threads?: number
  /** Of the answer to one request; wrk's own default is two. */
  timeoutSeconds?: number
  headers?: Readonly<Record<string, string>>
  /** The text of a Lua script, which sets `wrk.method` and `wrk.body`, or defines `request`. */
  script?: string
  /** For the scripts and the output. */
  folder: string
}

export type WrkResult = {
  requests: number
  requestsPerSecond: number
  bytesPerSecond: number
  latencyMs: { p50: number; p75: number; p90: number; p99: number; max: number }
  /** Answers with a status of 400 or more. */
  failedAnswers: number
  socketErrors: { connect: number; read: number; write: number; timeout: number }
}

/** Loads the URL for `seconds`, and closes all connections at once then. */
export async function runWrk(options: WrkOptions): Promise<WrkResult> {
  const { url, connections, seconds, threads = 1, timeoutSeconds = 10, folder } = options
  const command = requireProgram('wrk', 'install the Debian package wrk')
  const name = join(folder, `wrk-${randomUUID()}`)
  const args = ['-c', connections, '-t', Math.min(threads, connections), '-d', seconds].map(String)
  args.push('--latency', '--timeout', String(timeoutSeconds))
  for (const [key, value] of Object.entries(options.headers ?? {})) args.push('-H', `${key}: ${value}`)
  if (options.script !== undefined) {
    writeFileSync(`${name}.lua`, options.script)
    args.push('-s', `${name}.lua`)
  }
  const logFile = `${name}.log`
  const wrk = await startProcess({ name: 'wrk', command, args: [...args, url], logFile })
  const { code, output } = await wrk.exited
  if (code !== 0) throw new Error(`wrk ended with code ${String(code)}: ${output}`)
  return parseWrk(readFileSync(logFile, 'utf8'))
}

/** The text that wrk 4 prints with `--latency`. */
export function parseWrk(output: string): WrkResult {
  const find = (pattern: RegExp) => pattern.exec(output)?.[1]
  const get = (pattern: RegExp) => {
    const found = find(pattern)
    if (found === undefined) throw new Error(`The output of wrk has no ${pattern.source}:\n${output}`)
    return found
  }
  const percentile = (percent: number) => milliseconds(get(new RegExp(`^\\s+${percent}%\\s+(\\S+)`, 'm')))
  const errors = (kind: string) => Number(find(new RegExp(`Socket errors:.*\\b${kind} (\\d+)`)) ?? 0)
  return {
    requests: Number(get(/^\s*(\d+) requests in /m)),
    requestsPerSecond: Number(get(/^Requests\/sec:\s+(\S+)/m)),
    bytesPerSecond: bytes(get(/^Transfer\/sec:\s+(\S+)/m)),
    latencyMs: {
      p50: percentile(50),
      p75: percentile(75),
      p90: percentile(90),
      p99: percentile(99),
      max: milliseconds(get(/^\s+Latency\s+\S+\s+\S+\s+(\S+)/m)),
    },
    failedAnswers: Number(find(/Non-2xx or 3xx responses: (\d+)/) ?? 0),
    socketErrors: {
      connect: errors('connect'),
      read: errors('read'),
      write: errors('write'),
      timeout: errors('timeout'),
    },
  }
}

const MILLISECONDS: Record<string, number> = { us: 0.001, ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }
const BYTES: Record<string, number> = { B: 1, KB: 1024, MB: 1024 ** 2, GB: 1024 ** 3, TB: 1024 ** 4 }

const milliseconds = (text: string) => quantity(text, MILLISECONDS)
const bytes = (text: string) => quantity(text, BYTES)

function quantity(text: string, units: Record<string, number>): number {
  const [, number, unit = ''] = /^([\d.]+)([a-zA-Z]+)$/.exec(text) ?? []
  const factor = units[unit]
  if (factor === undefined) throw new Error(`wrk printed a quantity without a known unit: ${text}`)
  return Number(number) * factor
}
