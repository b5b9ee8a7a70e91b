import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type IDeployment } from 'kubernetes-models/apps/v1/Deployment'
import { type IHorizontalPodAutoscaler } from 'kubernetes-models/autoscaling/v2/HorizontalPodAutoscaler'
import { type INetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1/NetworkPolicy'
import { type IPodDisruptionBudget } from 'kubernetes-models/policy/v1/PodDisruptionBudget'
import { type IRole } from 'kubernetes-models/rbac.authorization.k8s.io/v1/Role'
import { type IRoleBinding } from 'kubernetes-models/rbac.authorization.k8s.io/v1/RoleBinding'
import { type IConfigMap } from 'kubernetes-models/v1/ConfigMap'
import { containersOf, type Manifest, root, type Workload, workloadsOf } from './kustomize'
import { renderings } from './renderings'

const numberIn = (file: string, pattern: RegExp) =>
  Number(pattern.exec(readFileSync(join(root, file), 'utf8'))?.[1])
/** The longest drain of a service after SIGTERM, as its source has it. */
const STOP_SECONDS: Readonly<Record<string, number>> = {
  gateway: numberIn('apps/gateway/src/stop-times.ts', /MAX_STOP_SECONDS = (\d+)/),
  facilitator: numberIn('packages/service/src/run.ts', /graceSeconds = (\d+)/),
}
/** The one Job that calls the API server of Kubernetes, and its container. */
const [CALLER, CALLING_CONTAINER] = ['facilitator-migrate', 'client-key']

const podOf = (workload: Workload) => workload.spec?.template.spec
const labelsOf = (workload: Workload) => workload.spec?.template.metadata?.labels ?? {}
const nameOf = ({ metadata: { name } }: Manifest) => name

type Selector = {
  matchLabels?: Record<string, string>
  matchExpressions?: { key: string; operator: string; values?: string[] }[]
}
type PodMonitor = { spec: { selector: Selector; podMetricsEndpoints: object[] } }
const selects = ({ matchLabels = {}, matchExpressions = [] }: Selector, labels: Record<string, string>) =>
  Object.entries(matchLabels).every(([name, value]) => labels[name] === value) &&
  matchExpressions.every(
    ({ key, operator, values = [] }) => operator === 'In' && values.includes(labels[key] ?? ''),
  )

describe.each(renderings)('%s', (_, read) => {
  let manifests: Manifest[]
  let workloads: Workload[]
  const ofKind = <T>(kind: string) =>
    manifests.filter((manifest) => manifest.kind === kind) as (Manifest & T)[]
  beforeAll(() => {
    manifests = read()
    workloads = workloadsOf(manifests)
  })

  test('every container runs without privileges, with requests and limits, from a pinned image', () => {
    expect(workloads.map(nameOf).sort()).toEqual([
      'facilitator',
      'facilitator-migrate',
      'gateway',
      'gateway-migrate',
    ])
    for (const workload of workloads) {
      expect(podOf(workload)?.securityContext).toMatchObject({
        runAsNonRoot: true,
        runAsUser: 10001,
        seccompProfile: { type: 'RuntimeDefault' },
      })
      for (const { image, securityContext, resources } of containersOf(workload)) {
        expect(securityContext).toEqual({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        })
        expect(image).toMatch(/^[a-z0-9./-]+:(\d+\.\d+\.\d+[a-z0-9.-]*|[a-z0-9.-]+@sha256:[0-9a-f]{64})$/)
        for (const amounts of [resources?.requests, resources?.limits])
          expect(Object.keys(amounts ?? {})).toEqual(
            expect.arrayContaining(['cpu', 'memory', 'ephemeral-storage']),
          )
      }
    }
  })

  test('no pod shares anything with its node, and the namespace refuses one that does', () => {
    for (const workload of workloads) {
      const { hostNetwork, hostPID, hostIPC, volumes = [] } = podOf(workload) ?? {}
      expect([hostNetwork, hostPID, hostIPC]).toEqual([undefined, undefined, undefined])
      for (const { name, ...source } of volumes)
        expect([name, ...Object.keys(source)]).toEqual([
          name,
          expect.stringMatching(/^(configMap|emptyDir|projected|secret)$/),
        ])
    }
    expect(ofKind('Namespace').map(({ metadata }) => metadata.labels)).toMatchObject([
      { 'pod-security.kubernetes.io/enforce': 'restricted' },
    ])
  })

  test('only the Job that stores the client key calls the API server, and may get and patch that Secret only', () => {
    for (const workload of workloads) {
      const pod = podOf(workload)
      expect(pod?.automountServiceAccountToken).toBe(false)
      const tokens = (pod?.volumes ?? []).filter(({ projected }) =>
        projected?.sources?.some(({ serviceAccountToken }) => serviceAccountToken),
      )
      const mounting = containersOf(workload).filter(({ volumeMounts = [] }) =>
        volumeMounts.some(({ name }) => tokens.some((token) => token.name === name)),
      )
      expect(mounting.map(({ name }) => name)).toEqual(nameOf(workload) === CALLER ? [CALLING_CONTAINER] : [])
    }
    const [caller] = workloads.filter((workload) => nameOf(workload) === CALLER)
    expect(ofKind<IRole>('Role').map(({ rules }) => rules)).toEqual([
      [
        {
          apiGroups: [''],
          resources: ['secrets'],
          resourceNames: ['gateway-client-key'],
          verbs: ['get', 'patch'],
        },
      ],
    ])
    expect(ofKind<IRoleBinding>('RoleBinding')).toMatchObject([
      {
        roleRef: { kind: 'Role', name: 'gateway-client-key' },
        subjects: [
          {
            kind: 'ServiceAccount',
            name: (caller && podOf(caller)?.serviceAccountName) ?? '',
            namespace: 'tollgate',
          },
        ],
      },
    ])
    expect(manifests.filter(({ kind }) => kind.startsWith('ClusterRole'))).toEqual([])
  })

  test('every Deployment has probes, a budget, an autoscaler, and a grace period above its stop time', () => {
    expect(ofKind('Deployment').map(nameOf).sort()).toEqual(['facilitator', 'gateway'])
    for (const deployment of ofKind<IDeployment>('Deployment')) {
      const { containers = [], terminationGracePeriodSeconds = 30 } = deployment.spec?.template.spec ?? {}
      for (const { readinessProbe, livenessProbe, startupProbe, lifecycle } of containers) {
        expect([
          readinessProbe?.httpGet?.path,
          livenessProbe?.httpGet?.path,
          startupProbe?.httpGet?.path,
        ]).toEqual(['/ready', '/health', '/health'])
        const [, pause] = lifecycle?.preStop?.exec?.command ?? []
        expect(terminationGracePeriodSeconds).toBeGreaterThan(
          (STOP_SECONDS[deployment.metadata.name] ?? NaN) + Number(pause),
        )
      }
      const labels = deployment.spec?.template.metadata?.labels ?? {}
      const budgets = ofKind<IPodDisruptionBudget>('PodDisruptionBudget')
      expect(budgets.filter(({ spec }) => selects(spec?.selector ?? {}, labels))).toMatchObject([
        { metadata: { name: nameOf(deployment) }, spec: { maxUnavailable: 1 } },
      ])
      const [autoscaler] = ofKind<IHorizontalPodAutoscaler>('HorizontalPodAutoscaler').filter(
        (one) => nameOf(one) === nameOf(deployment),
      )
      expect(autoscaler?.spec?.minReplicas).toBeGreaterThanOrEqual(2)
      // A roll-out takes no replica away before another one serves.
      expect(deployment.spec?.strategy).toEqual({ rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } })
    }
  })

  test('no pod accepts a connection, and none reaches metadata, unless a policy allows it', () => {
    const policies = ofKind<INetworkPolicy>('NetworkPolicy')
    const [all] = policies.filter(({ metadata }) => metadata.name === 'default')
    expect(all?.spec).toMatchObject({ policyTypes: ['Ingress', 'Egress'] })
    expect(all?.spec?.ingress ?? []).toEqual([])
    for (const workload of workloads) {
      expect(labelsOf(workload)).toMatchObject({ 'app.kubernetes.io/part-of': 'tollgate' })
      expect(selects(all?.spec?.podSelector ?? {}, labelsOf(workload))).toBe(true)
    }
    // The namespace can have other pods, which keep their connections.
    for (const { metadata, spec } of policies)
      expect([metadata.name, selects(spec?.podSelector ?? {}, { app: 'of-another' })]).toEqual([
        metadata.name,
        false,
      ])
    for (const { spec } of policies)
      for (const { to = [] } of spec?.egress ?? []) {
        expect(to).not.toEqual([])
        for (const { ipBlock } of to) {
          if (ipBlock?.cidr === '0.0.0.0/0') {
            expect(ipBlock.except?.join()).toMatch(/169\.254\./)
            expect(ipBlock.except).toContain('168.63.129.16/32')
          }
          if (ipBlock?.cidr === '::/0') expect(ipBlock.except).toContain('fd00:ec2::254/128')
        }
      }
    const reachable = workloads.filter((workload) =>
      policies.some(({ spec }) => spec?.ingress?.length && selects(spec.podSelector, labelsOf(workload))),
    )
    expect(reachable.map(nameOf).sort()).toEqual(['facilitator', 'gateway'])
    // The gateway alone can be called from anywhere, unless a proxy is trusted to name its clients.
    const open = policies.flatMap(({ metadata, spec }) =>
      (spec?.ingress ?? [])
        .filter(({ from = [] }) => from.length === 0)
        .map(({ ports }) => [metadata.name, ports?.map(({ port }) => port)]),
    )
    const isTrusting = ofKind('Ingress').length > 0
    expect(open).toEqual(isTrusting ? [] : [['gateway', ['http']]])
    const controller = {
      namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'ingress-nginx' } },
    }
    const gateway = { podSelector: { matchLabels: { 'app.kubernetes.io/name': 'gateway' } } }
    const callers = (service: string) =>
      policies
        .filter(({ spec }) => selects(spec?.podSelector ?? {}, { 'app.kubernetes.io/name': service }))
        .flatMap(({ spec }) => spec?.ingress ?? [])
        .filter(({ ports = [] }) => ports.some(({ port }) => port === 'http'))
        .flatMap(({ from = [] }) => from)
    expect([callers('gateway'), callers('facilitator')]).toEqual(
      isTrusting ? [[controller], [gateway, controller]] : [[], [gateway]],
    )
  })

  test('every pod may reach its stores, and the gateway the facilitator', () => {
    const policies = ofKind<INetworkPolicy>('NetworkPolicy')
    const allowed = (workload: Workload) =>
      policies
        .filter(({ spec }) => selects(spec?.podSelector ?? {}, labelsOf(workload)))
        .flatMap(({ spec }) => spec?.egress ?? [])
    const ports = (workload: Workload) =>
      allowed(workload).flatMap(({ ports: some }) => (some ? some.map(({ port }) => port) : ['all']))
    for (const workload of workloads) {
      if (ports(workload).includes('all')) continue
      expect(ports(workload)).toEqual(expect.arrayContaining([53, 5432, 6379]))
      const names = allowed(workload).filter((rule) => rule.ports?.some(({ port }) => port === 53))
      // A resolver can be a pod of any namespace, or at a link-local address of the node.
      expect(names.flatMap(({ to = [] }) => to)).toEqual([
        { namespaceSelector: {} },
        { ipBlock: { cidr: '0.0.0.0/0', except: ['168.63.129.16/32', '169.254.169.254/32'] } },
        { ipBlock: { cidr: '::/0', except: ['fd00:ec2::254/128'] } },
      ])
      const calls: Record<string, (string | number)[]> = {
        gateway: [443, 'http'],
        facilitator: [443],
        [CALLER]: [443, 6443],
        'gateway-migrate': [],
      }
      expect(ports(workload)).toEqual(expect.arrayContaining(calls[nameOf(workload)] ?? ['none']))
    }
  })

  test('every ConfigMap, and every key of a Secret, is there or documented', () => {
    const configMaps = ofKind<IConfigMap>('ConfigMap').map(nameOf)
    const documented = readFileSync(join(root, 'k8s/secrets.example.yaml'), 'utf8')
    for (const workload of workloads) {
      const volumes = podOf(workload)?.volumes ?? []
      const containers = containersOf(workload)
      const used = [
        ...volumes.flatMap(({ configMap }) => configMap?.name ?? []),
        ...containers.flatMap(({ envFrom = [] }) =>
          envFrom.flatMap(({ configMapRef }) => configMapRef?.name ?? []),
        ),
      ]
      expect(configMaps).toEqual(expect.arrayContaining(used))
      for (const { valueFrom } of containers.flatMap(({ env = [] }) => env)) {
        const { name, key } = valueFrom?.secretKeyRef ?? {}
        if (name === 'gateway-client-key') expect(key).toMatch(/^FACILITATOR_CLIENT_(ID|TOKEN)$/)
        else expect(documented).toMatch(new RegExp(`name: ${name}\\n[^]*?\\n  ${key}: ''`))
      }
      const { priorityClassName } = podOf(workload) ?? {}
      if (priorityClassName) expect(ofKind('PriorityClass').map(nameOf)).toContain(priorityClassName)
    }
  })

  test('Prometheus reads each pod of a service by a PodMonitor or by its annotations, not by both', () => {
    const monitors = ofKind<PodMonitor>('PodMonitor')
    for (const deployment of ofKind<IDeployment>('Deployment')) {
      const { labels = {}, annotations = {} } = deployment.spec?.template.metadata ?? {}
      const reading = monitors.filter(({ spec }) => selects(spec.selector, labels))
      const isAnnotated = Object.keys(annotations).some((name) => name.startsWith('prometheus.io/'))
      expect([nameOf(deployment), reading.length]).toEqual([nameOf(deployment), isAnnotated ? 0 : 1])
      // The operator sets a label "endpoint", which circuits have too.
      for (const { spec } of reading)
        expect(spec.podMetricsEndpoints).toMatchObject([{ port: 'metrics', honorLabels: true }])
    }
  })
})
