import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { root } from '../testing/world'

export const folder = join(root, 'deploy/monitoring')

export type Rule = {
  alert?: string
  record?: string
  expr: string
  labels?: Record<string, string>
  annotations?: Record<string, string>
}
export type Panel = { title: string; unit: string; queries: { expr: string; legend: string }[] }

export const ruleFiles = ['gateway', 'facilitator', 'services'] as const
export const services = ['gateway', 'facilitator'] as const

type PrometheusRule = { spec: { groups: { name: string; rules: Rule[] }[] } }

/** What Prometheus takes as a rule file. */
export const specOf = (name: (typeof ruleFiles)[number]) =>
  (parse(readFileSync(join(folder, `${name}.rules.yaml`), 'utf8')) as PrometheusRule).spec

export const rules: readonly Rule[] = ruleFiles.flatMap((name) =>
  specOf(name).groups.flatMap((group) => group.rules),
)

type DashboardPanel = {
  type: string
  title: string
  fieldConfig: { defaults: { unit: string } }
  targets: { expr: string; legendFormat: string }[]
}

export function panelsOf(service: (typeof services)[number]): Panel[] {
  const text = readFileSync(join(folder, `${service}.dashboard.json`), 'utf8')
  const { panels } = JSON.parse(text) as { panels: DashboardPanel[] }
  return panels
    .filter(({ type }) => type === 'timeseries')
    .map(({ title, fieldConfig, targets }) => ({
      title,
      unit: fieldConfig.defaults.unit,
      queries: targets.map(({ expr, legendFormat }) => ({ expr, legend: legendFormat })),
    }))
}

/** As Grafana replaces it. */
export const withInterval = (expr: string, interval: string) => expr.replaceAll('$__rate_interval', interval)
