import { freePort, startProcess } from '@tollgate/processes'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { ruleFiles, specOf } from './rules-and-dashboards'

type Sample = { metric: Record<string, string>; values: [number, string][] }
type Answer = {
  status: string
  error?: string
  data: { result: Sample[] | { metric: object; value: [number, string] }[] }
}

export const SCRAPE_SECONDS = 2

/** A real Prometheus with the rules of this repository, that scrapes both services. */
export async function startPrometheus(folder: string, targets: Readonly<Record<string, string>>) {
  mkdirSync(folder, { recursive: true })
  for (const name of ruleFiles) writeFileSync(join(folder, `${name}.yaml`), stringify(specOf(name)))
  const interval = `${SCRAPE_SECONDS}s`
  const configuration = {
    global: { scrape_interval: interval, evaluation_interval: interval },
    rule_files: ruleFiles.map((name) => `${name}.yaml`),
    scrape_configs: Object.entries(targets).map(([job_name, url]) => ({
      job_name,
      static_configs: [{ targets: [new URL(url).host] }],
    })),
  }
  writeFileSync(join(folder, 'prometheus.yml'), stringify(configuration))
  const url = `http://127.0.0.1:${await freePort()}`
  const running = await startProcess({
    name: 'prometheus',
    command: 'prometheus',
    args: [
      `--config.file=${join(folder, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=${new URL(url).host}`,
      '--enable-feature=exemplar-storage',
    ],
    cwd: folder,
    env: { PATH: process.env['PATH'] },
    logFile: join(folder, 'prometheus.log'),
    ready: /Server is ready to receive web requests/,
    stopSeconds: 5,
  })

  async function get(path: string, query: Record<string, string>): Promise<Answer> {
    const signal = AbortSignal.timeout(30_000)
    const answer = await fetch(`${url}/api/v1/${path}?${new URLSearchParams(query).toString()}`, { signal })
    const body = (await answer.json()) as Answer
    if (body.status !== 'success')
      throw new Error(`${query['query'] ?? path}: ${body.error ?? answer.status}`)
    return body
  }
  return {
    url,
    /** The number of series of an instant query. */
    count: async (query: string) => (await get('query', { query })).data.result.length,
    range: async (query: string, { start, end }: { start: number; end: number }) =>
      (
        await get('query_range', {
          query,
          start: String(start),
          end: String(end),
          step: String(SCRAPE_SECONDS),
        })
      ).data.result as Sample[],
    stop: () => running.stop(),
  }
}

export type Prometheus = Awaited<ReturnType<typeof startPrometheus>>
export type Series = Sample
