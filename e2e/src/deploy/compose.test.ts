import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { parseCatalog } from '../../../apps/gateway/src/catalog/catalog-file'
import { ID_VARIABLE, TOKEN_VARIABLE } from '../../../apps/facilitator/src/operations/client-keys/key-place'
import { imageOf } from './image'
import { root } from './kustomize'
import { type ServiceInput, unusedVariables, plausible, services, startWith } from './settings'

type ComposeService = {
  image: string
  build?: { context: string; dockerfile: string }
  command?: string[]
  environment?: Record<string, string>
  configs?: { source: string; target: string }[]
  profiles?: string[]
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

/**
 * The parts of `docker compose config` that the tests need: merged keys, then variables or their defaults.
 */
const render = (variables: Record<string, string>) =>
  parse(
    text,
    (_, value: unknown) =>
      typeof value === 'string'
        ? value.replace(VARIABLE, (_all, name: string, otherwise: string) => variables[name] || otherwise)
        : value,
    { merge: true },
  ) as Compose

/** The lines of the example with a value; the operator fills in the others. */
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
  test('pins each third-party image by digest', () => {
    const thirdPartyImages = Object.values(compose.services).filter(({ build }) => build === undefined)
    expect(thirdPartyImages).toHaveLength(2)
    for (const { image } of thirdPartyImages) expect(image).toMatch(/^[a-z]+:\d+@sha256:[0-9a-f]{64}$/)
  })

  test('is complete without variables, and the example lists every variable', () => {
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

  test('the gateway names the missing settings of an unedited example', () => {
    expect(() => startWith('gateway', inputOf('gateway', render({})))).toThrow(
      /JWT_SECRET: not set(.|\n)*FACILITATOR_CLIENT_ID: not set(.|\n)*FACILITATOR_CLIENT_TOKEN: not set/,
    )
  })

  test('the catalog lacks only the payment recipient, and sells nothing until it is set', () => {
    expect(() => parseCatalog(render({}).configs['catalog']?.content ?? '')).toThrow(/plans\.0\.pay_to/)
    const catalog = parseCatalog(compose.configs['catalog']?.content ?? '')
    expect(catalog).toMatchObject({
      plans: [{ network: 'base-sepolia' }],
      providers: [{ chain_id: '84532' }],
    })
  })

  test('makes the client key from the catalog, for the variables that the gateway reads', () => {
    const { command = [], environment, profiles } = compose.services['client-key'] ?? {}
    expect(profiles).toEqual(['setup'])
    expect(environment).toEqual(compose.services['facilitator-migrate']?.environment)
    expect(command.join(' ')).toContain('clients create --dotenv /docker/.env')
    for (const name of [ID_VARIABLE, TOKEN_VARIABLE]) {
      expect(example).toContain(`\n${name}=\n`)
      expect(text).toContain(`${name}: \${${name}:-}`)
    }
  })

  test('starts each service after its dependencies, and waits for their health checks', () => {
    for (const [name, { depends_on = {} }] of started)
      for (const [other, { condition }] of Object.entries(depends_on)) {
        const part = compose.services[other]
        const isOnce = part?.restart === 'no'
        expect(part).not.toHaveProperty('profiles')
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

  test('references only existing files and configs, and runs the migrations as the cluster does', () => {
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
