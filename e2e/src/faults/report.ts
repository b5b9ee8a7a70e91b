import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { renderReliability } from './reliability'
import { type Row } from './scenario'

/** What a scenario found the last time that all of it held, and when that was: `2026-11-22`. */
export type Found = Row & { date: string }

/** By scenario, in the order in which they are told. */
export type Findings = Record<string, Found[]>

/** The report in a folder: `reliability.json`, and `reliability.md` that is made of it. */
export function openReport(folder: string, scenarios: readonly string[]) {
  const data = join(folder, 'reliability.json')
  const read = () => (existsSync(data) ? (JSON.parse(readFileSync(data, 'utf8')) as Findings) : {})

  return {
    /** Puts what was found in the place of what was found of it before, and leaves everything else. */
    write(scenario: string, rows: readonly Row[], { isWhole }: { isWhole: boolean }) {
      const date = new Date().toISOString().slice(0, 10)
      const before = read()
      const found = rows.map((row) => ({ ...row, date }))
      const rest = isWhole ? [] : (before[scenario] ?? [])
      const kept = rest.map((row) => found.find((one) => isSame(one, row)) ?? row)
      const added = found.filter((one) => !rest.some((row) => isSame(one, row)))
      const all: Findings = { ...before, [scenario]: [...kept, ...added] }
      const told = scenarios.flatMap((name) => (all[name] ? [[name, all[name]] as const] : []))
      const findings: Findings = Object.fromEntries(told)
      mkdirSync(folder, { recursive: true })
      writeFileSync(data, `${JSON.stringify(findings, null, 2)}\n`)
      writeFileSync(join(folder, 'reliability.md'), renderReliability(findings))
    },
  }
}

const isSame = (one: Row, other: Row) => one.fault === other.fault && one.where === other.where
