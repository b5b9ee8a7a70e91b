import { execFileSync, spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { type IDeployment } from 'kubernetes-models/apps/v1/Deployment'
import { type IJob } from 'kubernetes-models/batch/v1/Job'
import { type IConfigMap } from 'kubernetes-models/v1/ConfigMap'
import { type IPodTemplateSpec } from 'kubernetes-models/v1/PodTemplateSpec'
import { parse, parseAllDocuments } from 'yaml'

export const root = resolve(__dirname, '../../..')
export const base = join(root, 'k8s/base')

export type Manifest = {
  apiVersion: string
  kind: string
  metadata: {
    name: string
    namespace?: string
    labels?: Record<string, string>
    annotations?: Record<string, string>
  }
}

type Kustomization = {
  resources?: string[]
  labels?: { pairs: Record<string, string>; includeTemplates?: boolean }[]
  configMapGenerator?: { name: string; literals?: string[]; files?: string[] }[]
}

/** The parts of `kubectl kustomize` that `k8s/base` needs: names without hashes, no namespace. */
export function render(folder: string): Manifest[] {
  const { resources = [], labels = [], configMapGenerator = [] } = kustomizationIn(folder)
  const manifests = [
    ...resources.flatMap((name) =>
      name.endsWith('.yaml') ? documentsIn(join(folder, name)) : render(join(folder, name)),
    ),
    ...configMapGenerator.map(({ name, literals = [], files = [] }): Manifest & IConfigMap => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name },
      data: Object.fromEntries([
        ...literals.map((literal) => literal.split(/=(.*)/s).slice(0, 2) as [string, string]),
        ...files.map((file): [string, string] => [file, readFileSync(join(folder, file), 'utf8')]),
      ]),
    })),
  ]
  for (const { pairs, includeTemplates } of labels)
    for (const manifest of manifests) {
      Object.assign((manifest.metadata.labels ??= {}), pairs)
      const template = templateOf(manifest)
      if (includeTemplates && template) template.metadata = withLabels(template, pairs)
    }
  return manifests
}

const withLabels = ({ metadata }: IPodTemplateSpec, pairs: Record<string, string>) => ({
  ...metadata,
  labels: { ...metadata?.labels, ...pairs },
})

const kustomizationIn = (folder: string) =>
  parse(readFileSync(join(folder, 'kustomization.yaml'), 'utf8')) as Kustomization

export function documentsIn(file: string): Manifest[] {
  const documents = parseAllDocuments(readFileSync(file, 'utf8'))
  return documents.map((document) => {
    if (document.errors[0]) throw document.errors[0]
    return document.toJS() as Manifest
  })
}

/** Files below `folder` that no kustomization references, relative to `folder`. */
export function unlisted(folder: string): string[] {
  const listed = listedIn(folder)
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => !listed.includes(file))
    .map((file) => relative(folder, file))
}

function listedIn(folder: string): string[] {
  const { resources = [], configMapGenerator = [] } = kustomizationIn(folder)
  const names = [...resources, ...configMapGenerator.flatMap(({ files = [] }) => files)]
  return [
    join(folder, 'kustomization.yaml'),
    ...names.flatMap((name) =>
      name.endsWith('.yaml')
        ? [join(folder, name)]
        : name.startsWith('..')
          ? []
          : listedIn(join(folder, name)),
    ),
  ]
}

export const hasKubectl = spawnSync('kubectl', ['version', '--client']).status === 0

export const renderByKubectl = (folder: string): Manifest[] =>
  parseAllDocuments(execFileSync('kubectl', ['kustomize', folder], { encoding: 'utf8' })).map(
    (document) => document.toJS() as Manifest,
  )

export type Workload = Manifest & (IDeployment | IJob)

export const workloadsOf = (manifests: readonly Manifest[]) =>
  manifests.filter((manifest): manifest is Workload => ['Deployment', 'Job'].includes(manifest.kind))

const templateOf = (manifest: Manifest): IPodTemplateSpec | undefined =>
  workloadsOf([manifest])[0]?.spec?.template

/** Including init containers. */
export function containersOf(workload: Workload) {
  const { initContainers = [], containers = [] } = workload.spec?.template.spec ?? {}
  return [...initContainers, ...containers]
}
