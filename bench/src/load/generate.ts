import { randomUUID } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { startProcess } from '@tollgate/processes'
import { type AddressedRequest, type LoadRequest } from './request'

export type GeneratorPlan = {
  /** Sent in turn. */
  requests: readonly AddressedRequest[]
  /** To each server, and calls at once without a rate. */
  connections: number
  until: { seconds: number } | { calls: number }
  /** Undefined: each connection sends when it has the answer to its last request. */
  ratePerSecond?: number
}

/** `statuses`: how often each status, or the code of an error, ended a call. */
export type GeneratorResult = {
  answers: number
  seconds: number
  statuses: Record<string, number>
  latencyMs: { p50: number; p99: number; max: number }
}

export const addressedTo = (url: string, requests: readonly LoadRequest[]): AddressedRequest[] =>
  requests.map((request) => ({ ...request, url }))

/** A load by undici: at a constant rate, of a number of calls, or where wrk is not installed. */
export async function generate(folder: string, plan: GeneratorPlan): Promise<GeneratorResult> {
  const name = join(folder, `generator-${randomUUID()}`)
  writeFileSync(`${name}.json`, JSON.stringify(plan))
  const logFile = `${name}.log`
  const script = join(__dirname, '../../dist/load/generator.js')
  const generator = await startProcess({
    name: 'load generator',
    command: process.execPath,
    args: [script, `${name}.json`],
    logFile,
  })
  const { code, output } = await generator.exited
  if (code !== 0) throw new Error(`The load generator ended with code ${String(code)}: ${output}`)
  return JSON.parse(readFileSync(logFile, 'utf8')) as GeneratorResult
}
