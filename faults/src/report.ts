import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { renderReliability, type Findings } from './reliability'
import { type Row } from './scenario'

export function openReport(folder: string, scenarios: readonly string[]) {
  const data = join(folder, 'reliability.json')
  const read = () => (existsSync(data) ? (JSON.parse(readFileSync(data, 'utf8')) as Findings) : {})

  return {
    /** Replaces the rows of a scenario, or those of its parts, and keeps all others. */
    write(scenario: string, rows: readonly Row[], { isWhole }: { isWhole: boolean }) {
      const date = new Date().toISOString().slice(0, 10)
      const before = read()
      const found = rows.map((row) => ({ ...row, date }))
      const rest = isWhole ? [] : (before[scenario] ?? [])
      const kept = rest.map((row) => found.find((one) => isSame(one, row)) ?? row)
      const added = found.filter((one) => !rest.some((row) => isSame(one, row)))
      const all: Findings = { ...before, [scenario]: [...kept, ...added] }
      const ordered = scenarios.flatMap((name) => (all[name] ? [[name, all[name]] as const] : []))
      const findings: Findings = Object.fromEntries(ordered)
      mkdirSync(folder, { recursive: true })
      writeFileSync(data, `${JSON.stringify(findings, null, 2)}\n`)
      writeFileSync(join(folder, 'reliability.md'), renderReliability(findings))
    },
  }
}

const isSame = (one: Row, other: Row) => one.fault === other.fault && one.where === other.where
