export type ExportedMetric = { name: string; type: string; help: string; labels: readonly string[] }

/** From the text format. */
export function metricsIn(text: string): ExportedMetric[] {
  const helps = new Map(
    [...text.matchAll(/^# HELP (\S+) (.*)$/gm)].map(([, name = '', help = '']) => [name, help]),
  )
  return [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = '', type = '']) => {
    const seen = [...text.matchAll(new RegExp(String.raw`^${name}(?:_bucket|_sum|_count)?\{(.*)\} `, 'gm'))]
    const labels = seen.flatMap(([, list = '']) =>
      [...list.matchAll(/(\w+)="/g)].map(([, label = '']) => label),
    )
    const own = [...new Set(labels)].filter((label) => label !== 'le')
    return { name, type, help: helps.get(name) ?? '', labels: own.sort() }
  })
}

/** `job`, `instance` and `pod` are set by Prometheus. */
const targetLabels = ['job', 'instance', 'pod']

/** The metrics and labels of a PromQL expression that are not exported, by the rules as well as the services. */
export function unknownIn(expr: string, known: ReadonlyMap<string, readonly string[]>): string[] {
  const withoutStrings = expr.replace(/"[^"]*"/g, '""')
  const selectors = [...withoutStrings.matchAll(/\b((?:tollgate|nodejs|process)[\w:]*)(?:\{([^}]*)\})?/g)]
  const problems: string[] = []
  const available = new Set(targetLabels)
  for (const [, name = '', matchers = ''] of selectors) {
    const labels = known.get(name)
    if (!labels) problems.push(name)
    for (const label of labels ?? []) available.add(label)
    for (const [, label = ''] of matchers.matchAll(/(\w+)\s*(?:=|!)/g))
      if (labels && ![...labels, ...targetLabels].includes(label)) problems.push(`${name}{${label}}`)
  }
  for (const [, list = ''] of withoutStrings.matchAll(/\bby \(([^)]*)\)/g))
    for (const label of list.split(',').map((word) => word.trim()))
      if (!available.has(label)) problems.push(`by (${label}) in ${expr}`)
  return problems
}

/** The names of series, with their labels. */
export function seriesNames(metrics: readonly ExportedMetric[]): Map<string, readonly string[]> {
  const names = new Map<string, readonly string[]>()
  for (const { name, type, labels } of metrics) {
    if (type !== 'histogram') names.set(name, labels)
    else {
      names.set(`${name}_bucket`, [...labels, 'le'])
      for (const suffix of ['_sum', '_count']) names.set(name + suffix, labels)
    }
  }
  return names
}
