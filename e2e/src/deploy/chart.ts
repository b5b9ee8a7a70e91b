import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type IIngress } from 'kubernetes-models/networking.k8s.io/v1/Ingress'
import { type IHorizontalPodAutoscaler } from 'kubernetes-models/autoscaling/v2/HorizontalPodAutoscaler'
import { type IRole } from 'kubernetes-models/rbac.authorization.k8s.io/v1/Role'
import { type INetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1/NetworkPolicy'
import { type IConfigMap } from 'kubernetes-models/v1/ConfigMap'
import { parse, stringify } from 'yaml'
import { createTemplates, type Templates, YAML } from './chart-templates'
import { base, containersOf, documentsIn, type Manifest, render, root, workloadsOf } from './kustomize'

export const chartFolder = join(root, 'k8s/chart')
const production = join(root, 'k8s/overlays/production')
const services = ['gateway', 'facilitator'] as const
type Service = (typeof services)[number]

/** Objects that the Jobs before an upgrade need; Helm creates hooks in the order of their weights. */
const HOOKS: Readonly<Record<string, string>> = {
  'ConfigMap gateway-catalog': '-10',
  'ServiceAccount gateway-client-key': '-10',
  'ServiceAccount migrations': '-10',
  'Role gateway-client-key': '-9',
  'RoleBinding gateway-client-key': '-8',
  'Job facilitator-migrate': '0',
  'Job gateway-migrate': '1',
}

/**
 * Not in the chart: as a hook it would be replaced with each release, and its key lost, unless the template looks for it, which a
 * program that only renders the chart does not. The chart's Job creates it.
 */
export const MADE_BY_JOB = 'Secret gateway-client-key'
/** A right to create cannot be limited to a name. */
export const CREATION: IPolicyRule = { apiGroups: [''], resources: ['secrets'], verbs: ['create'] }
type IPolicyRule = NonNullable<IRole['rules']>[number]

/** The files of the Helm chart below `k8s/chart`, from the base; its optional objects are those of the production overlay. */
export function chartFiles(): Record<string, string> {
  const manifests = render(base).filter(({ kind }) => kind !== 'Namespace')
  const optional = ['ingress', 'network-policies', 'pod-monitors', 'priority-class'].flatMap((file) =>
    documentsIn(join(production, `${file}.yaml`)),
  )
  const files = [...manifests, ...optional].flatMap((manifest) => {
    const condition = conditionOf(manifest, manifests.includes(manifest))
    return condition === undefined ? [] : [[fileOf(manifest), templateOf(manifest, condition)] as const]
  })
  return {
    'Chart.yaml': chart(),
    'values.yaml': values(manifests),
    'values.schema.json': schema(),
    ...Object.fromEntries(files),
  }
}

const nameOf = ({ kind, metadata }: Manifest) => `${kind} ${metadata.name}`
const fileOf = ({ kind, metadata }: Manifest) => `templates/${metadata.name}-${kind.toLowerCase()}.yaml`

/** Empty: always there. Undefined: not in the chart. */
function conditionOf(manifest: Manifest, isInBase: boolean): string | undefined {
  if (nameOf(manifest) === MADE_BY_JOB) return undefined
  if (isInBase) return ''
  const conditions: Record<string, string> = {
    Ingress: '.Values.ingress.enabled',
    'NetworkPolicy facilitator-public': '.Values.ingress.enabled',
    PodMonitor: '.Values.podMonitor.enabled',
    PriorityClass: 'and .Values.priorityClassName .Values.priorityClass.create',
  }
  return conditions[manifest.kind] ?? conditions[nameOf(manifest)]
}

const HEADER = '# Generated from k8s/base by "node e2e/dist/deploy/write-chart.js"; a test compares them.\n'

function templateOf(original: Manifest, condition: string): string {
  const templates = createTemplates()
  const manifest = structuredClone(original)
  if (manifest.kind === 'PriorityClass') manifest.metadata.name = templates.value('.Values.priorityClassName')
  else manifest.metadata.namespace = templates.value('.Release.Namespace | quote')
  edit(manifest, templates)
  const hook = HOOKS[nameOf(original)]
  if (hook !== undefined)
    manifest.metadata.annotations = {
      ...manifest.metadata.annotations,
      'helm.sh/hook': 'pre-install,pre-upgrade',
      'helm.sh/hook-weight': hook,
      'helm.sh/hook-delete-policy': 'before-hook-creation',
    }
  const yaml = templates.fill(stringify(manifest, YAML))
  return HEADER + (condition === '' ? yaml : `{{- if ${condition} }}\n${yaml}{{- end }}\n`)
}

function edit(manifest: Manifest, templates: Templates) {
  const { name } = manifest.metadata
  const { value, variables, text } = templates
  const service = services.find((one) => name === one || name.startsWith(`${one}-`))
  editWorkload(manifest, service, templates)
  if (manifest.kind === 'ConfigMap') {
    const texts: Record<string, [string, string]> = {
      'facilitator-networks': ['networks.yaml', '.Values.networks'],
      'gateway-catalog': ['catalog.yaml', '.Values.catalog'],
    }
    const [file, given] = texts[name] ?? []
    const data =
      file === undefined ? variables(`.Values.${service ?? ''}.config`) : { [file]: text(given ?? '') }
    Object.assign(manifest, { data })
  }
  if (manifest.kind === 'HorizontalPodAutoscaler') {
    const { spec } = manifest as Manifest & IHorizontalPodAutoscaler
    const at = `.Values.${name}.autoscaling`
    Object.assign(spec ?? {}, {
      minReplicas: value(`${at}.minReplicas`),
      maxReplicas: value(`${at}.maxReplicas`),
    })
    const target = spec?.metrics?.[0]?.resource?.target
    Object.assign(target ?? {}, { averageUtilization: value(`${at}.targetCpuPercent`) })
  }
  if (manifest.kind === 'Role') (manifest as Manifest & IRole).rules?.push(CREATION)
  if (manifest.kind === 'RoleBinding')
    for (const subject of (manifest as Manifest & { subjects: { namespace: string }[] }).subjects)
      subject.namespace = value('.Release.Namespace | quote')
  if (manifest.kind === 'Ingress') editIngress(manifest as Manifest & IIngress, templates)
  if (manifest.kind === 'NetworkPolicy') editNetworkPolicy(manifest as Manifest & INetworkPolicy, templates)
}

/** The controller of an Ingress alone reaches both services: they trust the address of a client that it names. */
function editNetworkPolicy({ metadata, spec }: Manifest & INetworkPolicy, { value, when }: Templates) {
  const namespace = value('.Values.ingress.controllerNamespace | quote')
  const from = [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } } }]
  const [rule] = spec?.ingress ?? []
  if (metadata.name === 'gateway') Object.assign(rule ?? {}, { from: when('.Values.ingress.enabled', from) })
  if (metadata.name === 'facilitator-public') Object.assign(rule ?? {}, { from })
}

function editWorkload(
  manifest: Manifest,
  service: Service | undefined,
  { value, block, line, unless }: Templates,
) {
  const [workload] = workloadsOf([manifest])
  const template = workload?.spec?.template
  if (!workload || !template || !service) return
  const at = `.Values.${service}`
  for (const container of containersOf(workload)) {
    container.image = value(`printf "%s:%s" ${at}.image.repository ${at}.image.tag | quote`)
    for (const from of [
      ...(container.env ?? []).map(({ valueFrom }) => valueFrom?.secretKeyRef),
      ...(container.envFrom ?? []).map(({ secretRef }) => secretRef),
    ])
      if (from?.name === service) from.name = value(`${at}.secretName | quote`)
  }
  if (manifest.kind !== 'Deployment') return
  const configMaps = {
    gateway: ['gateway-config'],
    facilitator: ['facilitator-config', 'facilitator-networks'],
  }
  // A change of the configuration starts new pods.
  const sums = configMaps[service].map((name) => [
    `checksum/${name}`,
    value(`include (print $.Template.BasePath "/${name}-configmap.yaml") . | sha256sum`),
  ])
  // A pod that a PodMonitor and a job of the annotations read would be in every sum twice.
  const annotations = Object.entries(template.metadata?.annotations ?? {}).map(([name, given]) => [
    name,
    name.startsWith('prometheus.io/') ? unless('.Values.podMonitor.enabled', given) : given,
  ])
  template.metadata = {
    ...template.metadata,
    annotations: {
      ...(Object.fromEntries(annotations) as Record<string, string>),
      ...(Object.fromEntries(sums) as Record<string, string>),
    },
  }
  Object.assign(template.spec ?? {}, { priorityClassName: line('.Values.priorityClassName') })
  for (const container of containersOf(workload))
    Object.assign(container, { resources: block(`${at}.resources`) })
}

function editIngress({ metadata, spec }: Manifest & IIngress, { value, block }: Templates) {
  Object.assign(metadata, { annotations: block('.Values.ingress.annotations') })
  const hosts = services.map((service) => value(`.Values.ingress.hosts.${service} | quote`))
  for (const [index, rule] of (spec?.rules ?? []).entries()) rule.host = hosts[index] ?? ''
  const className = value('.Values.ingress.className | quote')
  const tls = [{ hosts, secretName: value('.Values.ingress.tlsSecretName | quote') }]
  Object.assign(spec ?? {}, { ingressClassName: className, tls })
}

const version = () =>
  (JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }).version

const chart = () =>
  HEADER +
  stringify({
    apiVersion: 'v2',
    name: 'tollgate',
    description: 'Blockchain RPC by the call, paid over x402: the gateway and its payment facilitator',
    type: 'application',
    version: version(),
    appVersion: version(),
    kubeVersion: '>=1.29.0-0',
  })

/** Helm reads a tag without quotes as a number, and would write it with an exponent or without its zeros. */
function schema(): string {
  const text = { type: 'string', minLength: 1 }
  const image = {
    type: 'object',
    required: ['repository', 'tag'],
    properties: {
      repository: text,
      tag: { ...text, description: 'Quoted: --set-string, or in quotes in a file of values.' },
    },
  }
  const service = { type: 'object', required: ['image'], properties: { image } }
  return `${JSON.stringify(
    {
      $schema: 'http://json-schema.org/draft-07/schema#',
      type: 'object',
      required: services,
      properties: Object.fromEntries(services.map((name) => [name, service])),
    },
    null,
    2,
  )}\n`
}

function values(manifests: readonly Manifest[]): string {
  const dataOf = (name: string) =>
    (manifests.find(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === name) as IConfigMap)
      .data
  const of = (service: Service) => {
    const [workload] = workloadsOf(manifests).filter(({ metadata }) => metadata.name === service)
    const [container] = workload ? containersOf(workload) : []
    const [repository = '', tag = ''] = container?.image?.split(':') ?? []
    const { spec } = manifests.find(
      ({ kind, metadata }) => kind === 'HorizontalPodAutoscaler' && metadata.name === service,
    ) as IHorizontalPodAutoscaler
    return {
      image: { repository, tag },
      secretName: service,
      config: dataOf(`${service}-config`),
      autoscaling: {
        minReplicas: spec?.minReplicas,
        maxReplicas: spec?.maxReplicas,
        targetCpuPercent: spec?.metrics?.[0]?.resource?.target.averageUtilization,
      },
      resources: container?.resources,
    }
  }
  const ingress = parse(readFileSync(join(production, 'ingress.yaml'), 'utf8')) as Manifest & IIngress
  const sections: [comment: string, section: object][] = [
    [
      'The gateway: its image, the Secret of its values (k8s/secrets.example.yaml), its variables.',
      { gateway: of('gateway') },
    ],
    [
      'The facilitator, likewise. Its Secret also has every variable that networks names.',
      { facilitator: of('facilitator') },
    ],
    [
      'The plans and providers of the gateway. Set pay_to: the value here is rejected.',
      { catalog: dataOf('gateway-catalog')?.['catalog.yaml'] },
    ],
    [
      'The networks of the facilitator; k8s/networks has more.',
      { networks: dataOf('facilitator-networks')?.['networks.yaml'] },
    ],
    [
      'Of all pods; empty: the default of the cluster.',
      { priorityClassName: '', priorityClass: { create: true } },
    ],
    ['Requires the operator of Prometheus.', { podMonitor: { enabled: false } }],
    [
      'With TLS, for both services. Pods of controllerNamespace alone reach them. trustedProxies: how many proxies are before the pods, the controller included.',
      {
        ingress: {
          enabled: false,
          className: ingress.spec?.ingressClassName,
          controllerNamespace: 'ingress-nginx',
          trustedProxies: 1,
          tlsSecretName: 'tollgate-tls',
          hosts: { gateway: 'rpc.example.com', facilitator: 'facilitator.example.com' },
          annotations: ingress.metadata.annotations,
        },
      },
    ],
  ]
  return HEADER + sections.map(([comment, section]) => `\n# ${comment}\n${stringify(section, YAML)}`).join('')
}
