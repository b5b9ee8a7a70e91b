import { mkdtempSync, rmSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { checkClientKey } from './client-key'
import { startCluster } from './cluster'
import { applied, compareWithBase, controls, lint, renderings } from './objects'
import { buildTools, customResourceDefinitions } from './tools'

const HELP = `Usage: node e2e/dist/kubernetes/main.js [--bin FOLDER]

Applies k8s/base, the overlays and the chart to a real API server of Kubernetes, with strict validation of fields, warnings as
errors and the restricted Pod Security level; compares the chart with the base; and runs the Job that makes the gateway's client
key: twice, killed in between, two at once, for a Secret that it may not read, and for one that it creates. Nothing is scheduled: there are no nodes.

  --bin FOLDER   where kube-apiserver, etcd and helm are, or are built from Go modules: half an hour and 3 GB
                 (default ~/.cache/tollgate/kubernetes)
  --help         prints this text

Requires Go 1.24, kubectl, and this repository built (pnpm build). Ends with 1 if anything is refused.
`

const say = (text: string) => process.stdout.write(`${text}\n`)

async function check(bin: string): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-kubernetes-'))
  const tools = await buildTools(bin, say)
  const schemas = await customResourceDefinitions()
  const cluster = await startCluster(tools, folder)
  const problems: string[] = []
  const report = (what: string, found: readonly string[]) => {
    say(`${found.length === 0 ? 'ok' : 'FAILED'}: ${what}`)
    problems.push(...found)
  }
  try {
    say(`API server ${(await cluster.kubectl.expect('version')).match(/Server Version: (\S+)/)?.[1] ?? '?'}`)
    for (const schema of schemas) await cluster.kubectl.expect('apply', '--server-side', '--filename', schema)
    await cluster.kubectl.expect('wait', 'crd', '--all', '--for=condition=Established', '--timeout=60s')
    const all = await renderings(tools.helm)
    report('the chart passes helm lint --strict', await lint(tools.helm))
    report(
      'the chart with its default values is the base',
      compareWithBase(all.find(([name]) => name === 'k8s/chart')?.[1] ?? []),
    )
    for (const [name, manifests] of all) {
      const isBase = name === 'k8s/base'
      const isForKey = ({ kind }: { kind: string }) => /^(Secret|ServiceAccount|Role|RoleBinding)$/.test(kind)
      report(
        `${name} is accepted`,
        await applied(cluster, [name, manifests], (manifest) => isBase && isForKey(manifest)),
      )
      if (!isBase) continue
      report('a pod with a privilege, and an unknown field, are refused', await controls(cluster))
      problems.push(...(await checkClientKey(cluster, folder, say)))
    }
  } finally {
    await cluster.stop()
    rmSync(folder, { recursive: true, force: true })
  }
  return problems
}

async function main() {
  const { values } = parseArgs({ options: { bin: { type: 'string' }, help: { type: 'boolean' } } })
  if (values.help) return void process.stdout.write(HELP)
  const problems = await check(values.bin ?? join(homedir(), '.cache/tollgate/kubernetes'))
  for (const problem of problems) process.stderr.write(`${problem}\n`)
  say(problems.length === 0 ? 'all checks passed' : `${problems.length} problems`)
  process.exitCode = problems.length === 0 ? 0 : 1
}

void main()
