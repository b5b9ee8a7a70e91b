import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { chartFiles, chartFolder } from './chart'

test('k8s/chart is what node e2e/dist/deploy/write-chart.js writes', () => {
  const files = chartFiles()
  const onDisk = readdirSync(chartFolder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(chartFolder.length + 1))
  expect(onDisk.sort()).toEqual(Object.keys(files).sort())
  for (const [file, text] of Object.entries(files))
    expect([file, readFileSync(join(chartFolder, file), 'utf8')]).toEqual([file, text])
})

test('an image is quoted, and a tag that Helm reads as a number is rejected', () => {
  const files = chartFiles()
  const images = Object.values(files).flatMap((text) => text.match(/^ *image: .*$/gm) ?? [])
  expect(images).toHaveLength(6)
  for (const image of images)
    expect(image.trim()).toMatch(/^image: \{\{ printf "%s:%s" (\S+)\.repository \1\.tag \| quote \}\}$/)
  const { required, properties } = JSON.parse(files['values.schema.json'] ?? '') as {
    required: string[]
    properties: Record<string, unknown>
  }
  const text = { type: 'string', minLength: 1 }
  for (const service of ['gateway', 'facilitator']) {
    expect(required).toContain(service)
    expect(properties[service]).toMatchObject({
      required: ['image'],
      properties: { image: { required: ['repository', 'tag'], properties: { repository: text, tag: text } } },
    })
  }
})

test('no placeholder is left', () => {
  expect(Object.values(chartFiles()).join('')).not.toMatch(/__[A-Z]\d+__/)
})

test('a change of a ConfigMap of the chart starts new pods of the service that reads it', () => {
  const files = chartFiles()
  for (const service of ['gateway', 'facilitator']) {
    const text = files[`templates/${service}-deployment.yaml`] ?? ''
    const used = [...text.matchAll(/configMap(?:Ref)?:\n +name: (\S+)/g)].map(([, name = '']) => name)
    expect(used).toContain(`${service}-config`)
    for (const name of used) {
      expect(Object.keys(files)).toContain(`templates/${name}-configmap.yaml`)
      expect(text).toContain(
        `checksum/${name}: {{ include (print $.Template.BasePath "/${name}-configmap.yaml") . | sha256sum }}`,
      )
    }
  }
})

test('the pods of the chart have no annotations for Prometheus where a PodMonitor reads them', () => {
  const files = chartFiles()
  for (const service of ['gateway', 'facilitator']) {
    const lines = (files[`templates/${service}-deployment.yaml`] ?? '').split('\n')
    const annotations = lines.flatMap((line, index) => (line.includes('prometheus.io/') ? [index] : []))
    expect(annotations).toHaveLength(3)
    for (const index of annotations)
      expect([lines[index - 1]?.trim(), lines[index + 1]?.trim()]).toEqual([
        '{{- if not .Values.podMonitor.enabled }}',
        '{{- end }}',
      ])
  }
})

test('the chart quotes every variable, and has the proxies of its Ingress', () => {
  const files = chartFiles()
  for (const service of ['gateway', 'facilitator']) {
    const template = files[`templates/${service}-config-configmap.yaml`] ?? ''
    expect(template).not.toContain('toYaml')
    expect(template).toMatch(/\$value .*\| quote }}/)
    expect(template).toContain(
      '"TRUSTED_PROXIES" .Values.ingress.trustedProxies) (dict) .Values.ingress.enabled',
    )
    expect(template).toContain(`merge (dict) .Values.${service}.config $proxies`)
  }
  expect(files['values.yaml']).toContain('trustedProxies: 1')
})

test('with an Ingress the pods of the chart accept calls from its controller and the gateway only', () => {
  const files = chartFiles()
  const controller = [
    'namespaceSelector:',
    'matchLabels:',
    'kubernetes.io/metadata.name: {{ .Values.ingress.controllerNamespace | quote }}',
  ]
  const lines = (name: string) =>
    (files[`templates/${name}-networkpolicy.yaml`] ?? '')
      .split('\n')
      .map((line) => line.trim().replace(/^- /, ''))
  expect(lines('gateway').join('\n')).toContain(
    ['ports:', 'port: http', '{{- if .Values.ingress.enabled }}', 'from:', ...controller, '{{- end }}'].join(
      '\n',
    ),
  )
  expect(lines('facilitator-public').join('\n')).toContain(['from:', ...controller].join('\n'))
  expect(files['values.yaml']).toContain('controllerNamespace: ingress-nginx')
})

test('no template of the chart is a Secret, nor depends on what is in the cluster; its Job creates the one of the client key', () => {
  const files = chartFiles()
  expect(Object.values(files).filter((text) => /^kind: Secret$|lookup/m.test(text))).toEqual([])
  const role = (files['templates/gateway-client-key-role.yaml'] ?? '').split('\nrules:\n')[1] ?? ''
  expect(parse(role)).toEqual([
    {
      apiGroups: [''],
      resources: ['secrets'],
      resourceNames: ['gateway-client-key'],
      verbs: ['get', 'patch'],
    },
    { apiGroups: [''], resources: ['secrets'], verbs: ['create'] },
  ])
})
