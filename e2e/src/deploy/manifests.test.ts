import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Deployment, type IDeployment } from 'kubernetes-models/apps/v1'
import { HorizontalPodAutoscaler, type IHorizontalPodAutoscaler } from 'kubernetes-models/autoscaling/v2'
import { Job } from 'kubernetes-models/batch/v1'
import { Ingress, NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1'
import { PodDisruptionBudget, type IPodDisruptionBudget } from 'kubernetes-models/policy/v1'
import { Role, RoleBinding } from 'kubernetes-models/rbac.authorization.k8s.io/v1'
import { PriorityClass } from 'kubernetes-models/scheduling.k8s.io/v1'
import {
  ConfigMap,
  type ISecret,
  type IService,
  Namespace,
  Secret,
  Service,
  ServiceAccount,
} from 'kubernetes-models/v1'
import {
  base,
  containersOf,
  documentsIn,
  hasKubectl,
  type Manifest,
  render,
  renderByKubectl,
  root,
  unlisted,
  workloadsOf,
} from './kustomize'
import { typeErrors } from './typed'
import { ID_VARIABLE, TOKEN_VARIABLE } from '../../../apps/facilitator/src/operations/client-keys/key-place'

const models = {
  ConfigMap,
  Deployment,
  HorizontalPodAutoscaler,
  Ingress,
  Job,
  Namespace,
  NetworkPolicy,
  PodDisruptionBudget,
  PriorityClass,
  Role,
  RoleBinding,
  Secret,
  Service,
  ServiceAccount,
}
const overlays = ['example', 'production'].map((name) => join(root, 'k8s/overlays', name))
/** Of controllers: e2e/src/kubernetes validates them with their own schemas. */
const custom = ['ExternalSecret', 'PodMonitor']
const manifests = render(base)
const workloads = workloadsOf(manifests)
const ofKind = <T>(kind: string) => manifests.filter((manifest) => manifest.kind === kind) as (Manifest & T)[]
const nameOf = ({ kind, metadata }: Manifest) => `${kind} ${metadata.name}`
const each = <T extends Manifest>(list: readonly T[]) =>
  list.map((manifest) => [nameOf(manifest), manifest] as const)
const deployments = ofKind<IDeployment>('Deployment')

describe('k8s/base', () => {
  test('contains both services, which scale independently', () => {
    for (const kind of [
      'Deployment',
      'HorizontalPodAutoscaler',
      'PodDisruptionBudget',
      'Service',
      'NetworkPolicy',
    ])
      expect(manifests.map(nameOf)).toEqual(
        expect.arrayContaining([`${kind} gateway`, `${kind} facilitator`]),
      )
    expect(manifests.map(nameOf)).toEqual(
      expect.arrayContaining(['Job gateway-migrate', 'Job facilitator-migrate']),
    )
  })

  test('references every file', () => {
    expect(unlisted(base)).toEqual([])
    for (const overlay of overlays) expect(unlisted(overlay)).toEqual([])
  })

  test.each(each(manifests))('%s has the required fields of its kind, with their types', (_, manifest) => {
    const Model = models[manifest.kind as keyof typeof models]
    expect(Model.apiVersion).toBe(manifest.apiVersion)
    new Model(manifest as never).validate()
  })

  test('has no field unknown to its kind', () => {
    expect(typeErrors(manifests)).toEqual([])
    const misspelled = { ...manifests[0], metadata: { name: 'x', lables: {} } } as unknown as Manifest
    expect(typeErrors([misspelled]).join()).toContain('lables')
  })

  test.each(each(workloads))('%s runs with the least that a pod can have', (_, workload) => {
    const pod = workload.spec?.template.spec
    expect(pod).toMatchObject({
      automountServiceAccountToken: false,
      securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
    })
    expect(pod?.securityContext?.runAsUser).toBeGreaterThan(0)
    for (const { securityContext, resources } of containersOf(workload)) {
      expect(securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      })
      for (const limits of [resources?.requests, resources?.limits])
        expect(Object.keys(limits ?? {})).toEqual(expect.arrayContaining(['cpu', 'memory']))
    }
  })

  test.each(each(deployments))('%s has probes, and leaves its replicas to the autoscaler', (_, { spec }) => {
    const [container] = spec?.template.spec?.containers ?? []
    expect(container?.readinessProbe?.httpGet).toEqual({ path: '/ready', port: 'http' })
    expect(container?.livenessProbe?.httpGet).toEqual({ path: '/health', port: 'http' })
    expect(container?.startupProbe?.httpGet).toEqual({ path: '/health', port: 'http' })
    expect(spec?.replicas).toBeUndefined()
  })

  test.each(each(workloads))('%s refers only to what is there', (_, workload) => {
    const pod = workload.spec?.template.spec
    expect(manifests.map(nameOf)).toContain(`ServiceAccount ${pod?.serviceAccountName}`)
    const configMaps = [
      ...(pod?.volumes ?? []).flatMap(({ configMap }) => (configMap ? [configMap.name] : [])),
      ...containersOf(workload).flatMap(({ envFrom = [] }) =>
        envFrom.flatMap(({ configMapRef }) => (configMapRef ? [configMapRef.name] : [])),
      ),
    ]
    for (const name of configMaps) expect(manifests.map(nameOf)).toContain(`ConfigMap ${name}`)
    const volumes = (pod?.volumes ?? []).map(({ name }) => name)
    const mounted = containersOf(workload).flatMap(({ volumeMounts = [] }) =>
      volumeMounts.map(({ name }) => name),
    )
    expect(new Set(mounted)).toEqual(new Set(volumes))
  })

  test('selects and scales existing pods', () => {
    for (const { metadata, spec } of deployments) {
      const labels = spec?.template.metadata?.labels
      const [container] = spec?.template.spec?.containers ?? []
      const [service] = ofKind<IService>('Service').filter(({ metadata: { name } }) => name === metadata.name)
      expect(labels).toMatchObject(spec?.selector.matchLabels ?? { missing: '' })
      expect(labels).toMatchObject(service?.spec?.selector ?? { missing: '' })
      expect(service?.spec?.ports?.map(({ targetPort }) => targetPort)).toEqual(
        container?.ports?.map(({ name }) => name),
      )
    }
    for (const { spec } of ofKind<IPodDisruptionBudget>('PodDisruptionBudget'))
      expect(deployments.map((deployment) => deployment.spec?.selector)).toContainEqual(spec?.selector)
    for (const { metadata, spec } of ofKind<IHorizontalPodAutoscaler>('HorizontalPodAutoscaler'))
      expect(spec?.scaleTargetRef).toEqual({ apiVersion: 'apps/v1', kind: 'Deployment', name: metadata.name })
  })

  test('references exactly the secrets of the example, which contains no values, and the client key', () => {
    const variables = workloads.flatMap(containersOf).flatMap(({ env = [] }) => env)
    const referred = variables.map(({ name, value, valueFrom }) => {
      expect([name, value]).toEqual([name, undefined])
      return `${valueFrom?.secretKeyRef?.name} ${valueFrom?.secretKeyRef?.key}`
    })
    const networks = ['base/facilitator', 'overlays/example'].map((folder) =>
      readFileSync(join(root, 'k8s', folder, 'networks.yaml'), 'utf8'),
    )
    for (const [, name = ''] of networks.join().matchAll(/: env:(\w+)/g)) referred.push(`facilitator ${name}`)
    const example = documentsIn(join(root, 'k8s/secrets.example.yaml')) as (Manifest & ISecret)[]
    const listed = example.flatMap(({ metadata, stringData = {} }) =>
      Object.keys(stringData).map((key) => `${metadata.name} ${key}`),
    )
    const made = [ID_VARIABLE, TOKEN_VARIABLE].map((key) => `gateway-client-key ${key}`)
    expect([...new Set(referred)].sort()).toEqual([...listed, ...made].sort())
    expect(example.flatMap(({ stringData = {} }) => Object.values(stringData)).join('')).toBe('')
    expect(ofKind<ISecret>('Secret')).toMatchObject([{ metadata: { name: 'gateway-client-key' } }])
    expect(ofKind<ISecret>('Secret')[0]).not.toHaveProperty('data')
  })
})

const byKubectl = hasKubectl ? describe : describe.skip
byKubectl('kubectl kustomize (skipped where there is no kubectl)', () => {
  const withoutHash = ({ kind, metadata }: Manifest) =>
    `${kind} ${kind === 'ConfigMap' ? metadata.name.replace(/-[^-]+$/, '') : metadata.name}`

  test('renders k8s/base as these tests do, in one namespace', () => {
    const rendered = renderByKubectl(base)
    expect(rendered.map(withoutHash).sort()).toEqual(manifests.map(nameOf).sort())
    const outside = rendered.filter(({ metadata }) => metadata.namespace !== 'tollgate')
    expect(outside.map(nameOf)).toEqual(['Namespace tollgate'])
  })

  test.each(overlays)('renders a valid overlay with other names, images and scale: %s', (overlay) => {
    const rendered = renderByKubectl(overlay)
    const known = rendered.filter(({ kind }) => !custom.includes(kind))
    for (const manifest of known)
      new models[manifest.kind as keyof typeof models](manifest as never).validate()
    const images = workloadsOf(rendered)
      .flatMap(containersOf)
      .map(({ image }) => image)
    expect(images.filter((image) => !image?.startsWith('registry.example/'))).toEqual([])
    expect(typeErrors(known)).toEqual([])
  })

  test('allows to apply the migrations first, with everything they need', () => {
    const first = renderByKubectl(base).filter(
      ({ metadata }) => metadata.labels?.['app.kubernetes.io/component'] === 'migration',
    )
    expect(first.map(withoutHash).sort()).toEqual([
      'ConfigMap gateway-catalog',
      'Job facilitator-migrate',
      'Job gateway-migrate',
      'Role gateway-client-key',
      'RoleBinding gateway-client-key',
      'Secret gateway-client-key',
      'ServiceAccount gateway-client-key',
      'ServiceAccount migrations',
    ])
  })
})

byKubectl('a change of the configuration starts new pods, and no other change of it', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-k8s-'))
  const templateOf = (service: string) => {
    const manifests = renderByKubectl(join(folder, 'base'))
    const [deployment] = workloadsOf(manifests).filter((workload) => workload.metadata.name === service)
    return JSON.stringify(deployment?.spec?.template)
  }
  try {
    cpSync(base, join(folder, 'base'), { recursive: true })
    const before = { gateway: templateOf('gateway'), facilitator: templateOf('facilitator') }
    const file = join(folder, 'base/gateway/kustomization.yaml')
    writeFileSync(
      file,
      readFileSync(file, 'utf8').replace('https://gateway.example', 'https://other.example'),
    )
    expect(templateOf('gateway')).not.toBe(before.gateway)
    expect(templateOf('facilitator')).toBe(before.facilitator)
  } finally {
    rmSync(folder, { recursive: true })
  }
})
