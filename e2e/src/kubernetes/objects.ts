import { isDeepStrictEqual } from 'node:util'
import { join } from 'node:path'
import { type IRole } from 'kubernetes-models/rbac.authorization.k8s.io/v1/Role'
import { parseAllDocuments, stringify } from 'yaml'
import {
  base,
  type Manifest,
  render,
  renderByKubectl,
  root,
  type Workload,
  workloadsOf,
} from '../deploy/kustomize'
import { chartFolder, CREATION, MADE_BY_JOB } from '../deploy/chart'
import { type Cluster, output } from './cluster'
import { KUBERNETES } from './tools'

/** As an operator applies it, but with errors for what would be a warning, or an unknown field. */
const APPLY = ['apply', '--server-side', '--validate=strict', '--warnings-as-errors']
const NAMESPACE = 'tollgate'

export async function renderings(helm: string): Promise<[name: string, manifests: Manifest[]][]> {
  const numbers = ['gateway.config.DATABASE_POOL_SIZE=20', 'facilitator.config.SETTLE_TIMEOUT_SECONDS=20']
  const options = [
    'ingress.enabled=true',
    'podMonitor.enabled=true',
    'priorityClassName=tollgate',
    ...numbers,
  ]
  return [
    ...['base', 'overlays/example', 'overlays/production'].map((path): [string, Manifest[]] => [
      `k8s/${path}`,
      renderByKubectl(join(root, 'k8s', path)),
    ]),
    ['k8s/chart', await template(helm)],
    ['k8s/chart with all options', await template(helm, ...options)],
  ]
}

async function template(helm: string, ...options: string[]): Promise<Manifest[]> {
  const set = options.flatMap((option) => ['--set', option])
  const args = [
    'template',
    'tollgate',
    chartFolder,
    '--namespace',
    NAMESPACE,
    '--kube-version',
    KUBERNETES,
    ...set,
  ]
  const { code, out, err } = await output(helm, args)
  if (code !== 0) throw new Error(`helm template: ${err}`)
  return parseAllDocuments(out).flatMap((document) => (document.toJS() as Manifest | null) ?? [])
}

export async function lint(helm: string): Promise<string[]> {
  const { code, out, err } = await output(helm, ['lint', '--strict', chartFolder])
  return code === 0 && err === '' ? [] : [`helm lint: ${out}${err}`]
}

/** Whether the chart's default values give the base. */
export function compareWithBase(chart: readonly Manifest[]): string[] {
  const bare = (manifest: Manifest): Manifest => {
    const copy = structuredClone(manifest)
    copy.metadata.namespace = NAMESPACE
    const [template] = workloadsOf([copy]).map(({ spec }) => spec?.template.metadata)
    for (const metadata of [copy.metadata, template ?? {}]) {
      const kept = Object.entries(metadata.annotations ?? {}).filter(
        ([name]) => !/^(helm\.sh|checksum)\//.test(name),
      )
      if (kept.length > 0) metadata.annotations = Object.fromEntries(kept)
      else delete metadata.annotations
    }
    return copy
  }
  const nameOf = ({ kind, metadata }: Manifest) => `${kind} ${metadata.name}`
  const expected = new Map(
    render(base)
      .filter((manifest) => manifest.kind !== 'Namespace' && nameOf(manifest) !== MADE_BY_JOB)
      .map((manifest) => [nameOf(manifest), bare(withCreation(manifest))]),
  )
  const given = new Map(chart.map((manifest) => [nameOf(manifest), bare(manifest)]))
  const names = new Set([...expected.keys(), ...given.keys()])
  return [...names]
    .filter((name) => !isDeepStrictEqual(expected.get(name), given.get(name)))
    .map((name) => `the chart differs from the base: ${name}`)
}

const withCreation = (manifest: Manifest): Manifest => {
  const { rules = [] } = manifest as Manifest & IRole
  return manifest.kind === 'Role' ? ({ ...manifest, rules: [...rules, CREATION] } as Manifest) : manifest
}

/** Applies a rendering, and removes it again unless it is to stay. Returns what the API server refuses or warns about. */
export async function applied(
  { kubectl }: Cluster,
  [name, manifests]: readonly [string, Manifest[]],
  keep: (manifest: Manifest) => boolean,
): Promise<string[]> {
  const problems: string[] = []
  const check = ({ code, err }: { code: number | null; err: string }, what: string) => {
    if (code !== 0 || /warning/i.test(err)) problems.push(`${name}: ${what}: ${err.trim()}`)
  }
  check(await kubectl.apply(documents(manifests), ...APPLY), 'apply')
  // Again: an update is checked in other ways than a creation.
  check(await kubectl.apply(documents(manifests), ...APPLY), 'apply again')
  for (const pod of workloadsOf(manifests).map(podOf))
    check(
      await kubectl.apply(
        documents([pod]),
        'create',
        '--dry-run=server',
        '--validate=strict',
        '--warnings-as-errors',
      ),
      `a pod of ${pod.metadata.name}`,
    )
  const removed = manifests.filter((manifest) => manifest.kind !== 'Namespace' && !keep(manifest))
  check(await kubectl.apply(documents(removed), 'delete', '--cascade=background', '--wait=false'), 'delete')
  return problems
}

/** The level of a namespace refuses pods; of Deployments and Jobs it only warns. */
function podOf(workload: Workload): Manifest {
  const { metadata, spec } = workload.spec?.template ?? {}
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { ...metadata, name: workload.metadata.name, namespace: NAMESPACE },
    ...{ spec },
  }
}

const documents = (manifests: readonly object[]) =>
  manifests.map((manifest) => stringify(manifest, { version: '1.1' })).join('---\n')

/** That the API server checks at all: each of these must be refused. */
export async function controls({ kubectl }: Cluster): Promise<string[]> {
  const [pod] = workloadsOf(render(base)).map(podOf)
  const privileged = structuredClone(pod) as Manifest & { spec: { hostNetwork?: boolean } }
  privileged.spec.hostNetwork = true
  const unknown = { ...structuredClone(pod), unknown: true }
  const problems: string[] = []
  for (const [wrong, reason] of [
    [privileged, /violates PodSecurity "restricted/],
    [unknown, /unknown field "unknown"/],
  ] as const) {
    const { code, err } = await kubectl.apply(
      documents([wrong]),
      'create',
      '--dry-run=server',
      '--validate=strict',
    )
    if (code === 0 || !reason.test(err)) problems.push(`not refused with ${String(reason)}: ${err}`)
  }
  return problems
}
