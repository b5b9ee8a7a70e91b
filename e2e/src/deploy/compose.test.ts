import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { parseCatalog } from '../../../apps/gateway/src/catalog/catalog-file'
import { imageOf } from './image'
import { root } from './kustomize'
import { type ServiceInput, unusedVariables, plausible, services, startWith } from './settings'

type ComposeService = {
  image: string
  build?: { context: string; dockerfile: string }
  command?: string[]
  environment?: Record<string, string>
  configs?: { source: string; target: string }[]
  depends_on?: Record<string, { condition: string }>
  healthcheck?: { test?: string[]; disable?: boolean }
  restart: string
}
type Compose = {
  services: Record<string, ComposeService>
  configs: Record<string, { content: string }>
}

const text = readFileSync(join(root, 'docker/compose.yaml'), 'utf8')
const example = readFileSync(join(root, 'docker/.env.example'), 'utf8')
const VARIABLE = /\$\{(\w+):-([^}]*)\}/g

/** `docker compose config`, as far as this file uses it: merged keys, and then variables or their defaults. */
const render = (variables: Record<string, string>) =>
  parse(
    text,
    (_, value: unknown) =>
      typeof value === 'string'
        ? value.replace(VARIABLE, (_all, name: string, otherwise: string) => variables[name] || otherwise)
        : value,
    { merge: true },
  ) as Compose

/** The lines of the example that set something; those that are empty are for the operator to fill in. */
const lines = [...example.matchAll(/^(?:# )?([A-Z_]+)=(.*)$/gm)]
const filledIn = Object.fromEntries(
  lines.map(([, name = '', value = '']) => [name, value === '' ? plausible(name) : value]),
)
const compose = render(filledIn)
const started = Object.entries(compose.services)

const inputOf = (service: string, { services: parts, configs: texts }: Compose): ServiceInput => {
  const { environment = {}, configs = [] } = parts[service] ?? {}
  return {
    variables: environment,
    files: Object.fromEntries(configs.map(({ source, target }) => [target, texts[source]?.content ?? ''])),
  }
}

describe('docker/compose.yaml', () => {
  test('takes each image that is not built here by its digest', () => {
    const foreign = Object.values(compose.services).filter(({ build }) => build === undefined)
    expect(foreign).toHaveLength(2)
    for (const { image } of foreign) expect(image).toMatch(/^[a-z]+:\d+@sha256:[0-9a-f]{64}$/)
  })

  test('is whole without any variable, and each that it knows is in the example', () => {
    expect(render({}).services).toHaveProperty('gateway')
    expect(text.replace(VARIABLE, '')).not.toContain('${')
    const used = [...text.matchAll(VARIABLE)].map(([, name]) => name)
    expect(lines.map(([, name]) => name).sort()).toEqual([...new Set(used)].sort())
  })

  test('has the defaults that the example shows', () => {
    const shown = Object.fromEntries(lines.map(([, name = '', value = '']) => [name, value]))
    for (const [, name = '', otherwise] of text.matchAll(VARIABLE))
      expect([name, otherwise]).toEqual([name, shown[name]])
  })

  test.each(services)('sets what the %s needs, and nothing that it does not know', (service) => {
    const input = inputOf(service, compose)
    const variables = { ...imageOf(service).environment, ...input.variables }
    expect(() => startWith(service, { ...input, variables })).not.toThrow()
    expect(unusedVariables(service, input)).toEqual([])
  })

  test('the gateway says what is missing while the operator has filled in nothing', () => {
    expect(() => startWith('gateway', inputOf('gateway', render({})))).toThrow(
      /JWT_SECRET: not set(.|\n)*FACILITATOR_CLIENT_ID: not set(.|\n)*FACILITATOR_CLIENT_TOKEN: not set/,
    )
  })

  test('the catalog lacks the recipient of payments only, and sells nothing until it is set', () => {
    expect(() => parseCatalog(render({}).configs['catalog']?.content ?? '')).toThrow(/plans\.0\.pay_to/)
    const catalog = parseCatalog(compose.configs['catalog']?.content ?? '')
    expect(catalog).toMatchObject({
      plans: [{ network: 'base-sepolia' }],
      providers: [{ chain_id: '84532' }],
    })
  })

  test('starts each part after those it stands on, and waits for what they can say of themselves', () => {
    for (const [name, { depends_on = {} }] of started)
      for (const [other, { condition }] of Object.entries(depends_on)) {
        const part = compose.services[other]
        const isOnce = part?.restart === 'no'
        expect([name, other, condition]).toEqual([
          name,
          other,
          isOnce ? 'service_completed_successfully' : 'service_healthy',
        ])
        const isProbed = part?.healthcheck?.test ?? part?.image.startsWith('tollgate/')
        expect(isOnce || isProbed).toBeTruthy()
      }
    expect(Object.keys(compose.services['gateway']?.depends_on ?? {})).toContain('gateway-catalog')
    expect(Object.keys(compose.services['gateway-catalog']?.depends_on ?? {})).toEqual(['gateway-migrate'])
    expect(Object.keys(compose.services['facilitator']?.depends_on ?? {})).toContain('facilitator-migrate')
  })

  test('refers only to files and configs that are there, and runs the migrations as the cluster does', () => {
    for (const [, { build, configs = [] }] of started) {
      if (build) expect(existsSync(join(root, 'docker', build.context, build.dockerfile))).toBe(true)
      for (const { source } of configs) expect(compose.configs).toHaveProperty(source)
    }
    for (const service of services) {
      const job = readFileSync(join(root, `k8s/base/migrations/${service}.yaml`), 'utf8')
      expect(job).toContain(`[${compose.services[`${service}-migrate`]?.command?.join(', ')}]`)
    }
  })
})
