import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join, posix } from 'node:path'

const root = join(__dirname, '../../..')
export const SERVICES = ['gateway', 'facilitator'] as const
export const CONFIGURATION_DOCUMENT = join(root, 'docs/operate/configure.md')
export const exampleOf = (service: string) => join(root, 'apps', service, '.env.example')

/** As far as it is read here. */
type Schema = {
  description?: string
  def: { defaultValue?: unknown }
  safeParse(value: unknown): { success: boolean; error?: { issues: { message: string }[] } }
}
type Variable = { name: string; value: string; fallback: string | undefined; description: string }

/** The variables of a built service, in the order of its schema. @throws if one has no description */
export function variablesOf(service: string): Variable[] {
  const load = createRequire(join(root, 'apps', service, 'package.json'))
  const { Environment } = load('./dist/config.js') as { Environment: { shape: Record<string, Schema> } }
  return Object.entries(Environment.shape).map(([name, schema]) => {
    const { description } = schema
    if (description === undefined) throw new Error(`${service}: ${name} has no description`)
    return { name, value: expected(schema), fallback: fallbackOf(schema), description }
  })
}

const problemOf = (schema: Schema, value: unknown) => schema.safeParse(value).error?.issues[0]?.message

/** What the schema asks for when it refuses a value. */
const expected = (schema: Schema): string =>
  (problemOf(schema, '0') ?? problemOf(schema, '\0') ?? problemOf(schema, undefined) ?? 'a text').replace(
    /^expected /,
    '',
  )

/** As it is written in the environment; undefined if the variable must be set, empty if it may be missing. */
function fallbackOf(schema: Schema): string | undefined {
  if (!schema.safeParse(undefined).success) return undefined
  const { defaultValue } = schema.def
  return typeof defaultValue === 'string'
    ? defaultValue
    : JSON.stringify(defaultValue ?? '').replaceAll('"', '')
}

/** docs/operate/configure.md */
export function configurationDocument(): string {
  const networks = readFileSync(join(root, 'apps/facilitator/networks.example.yaml'), 'utf8')
  const catalog = readFileSync(join(root, 'apps/gateway/catalog.example.yaml'), 'utf8')
  return [
    '# Configure',
    'Every variable of both services, written from their schemas by `node e2e/dist/docs/write-configuration.js`. A service reads them once, at its start, from its environment and from no file. It lists every variable that is missing or wrong by name, without its value, and exits with 78. A blank variable counts as unset.',
    'On Kubernetes what is no secret stands in the ConfigMap of the service, and secrets in its Secret: [k8s](../../k8s/README.md#configure).',
    ...SERVICES.flatMap((service) => [`## ${titleOf(service)}`, tableOf(variablesOf(service))]),
    '## Networks',
    'The file that `NETWORKS_FILE` of the facilitator names. [k8s/networks](../../k8s/networks/networks.yaml) has entries for public networks, to copy.',
    `\`\`\`yaml\n${networks}\`\`\``,
    '## Plans and providers',
    "The gateway's plans, prices and upstreams are no variables: `gateway catalog apply FILE` writes them to its database, and `gateway catalog --help` says which changes are allowed. [k8s/networks/catalog.yaml](../../k8s/networks/catalog.yaml) has entries for public networks, to copy.",
    `\`\`\`yaml\n${catalog}\`\`\``,
    '',
  ]
    .join('\n\n')
    .replace(/\n+$/, '\n')
}

const titleOf = (service: string) => (service === 'gateway' ? 'Gateway' : 'Facilitator')

const tableOf = (variables: readonly Variable[]) =>
  [
    '| Variable | Default | Value | What it does |',
    '| --- | --- | --- | --- |',
    ...variables.map(
      ({ name, value, fallback, description }) =>
        `| \`${name}\` | ${cellOf(fallback)} | ${value} | ${description} |`,
    ),
  ].join('\n')

function cellOf(fallback: string | undefined): string {
  if (fallback === undefined) return '**required**'
  return fallback === '' ? '' : `\`${fallback}\``
}

const WIDTH = 118

/** apps/SERVICE/.env.example: what must be set, then the rest with its defaults. */
export function exampleFile(service: string): string {
  const variables = variablesOf(service)
  const required = variables.filter(({ fallback }) => fallback === undefined)
  const others = variables.filter(({ fallback }) => fallback !== undefined)
  return [
    `# The ${service}'s environment. Copy and fill in, as docs/operate/install.md shows, or set the variables where the service runs. Written\n# from the schema by e2e/dist/docs/write-configuration.js; docs/operate/configure.md has the same as a table.\n`,
    ...required.map(({ name, description }) => `${comment(description)}${name}=\n`),
    '# What follows has a default, or may be missing.\n',
    ...others.map(({ name, fallback, description }) => `${comment(description)}# ${name}=${fallback}\n`),
  ].join('\n')
}

/** As lines of a comment, with the path of each linked document in the repository. */
function comment(description: string): string {
  const words = description
    .replace(
      /\[([^\]]+)\]\(([^)#]*)(?:#[^)]*)?\)/g,
      (_, text: string, target: string) =>
        `${text} (${target === '' ? 'docs/operate/configure.md' : posix.join('docs/operate', target)})`,
    )
    .split(' ')
  const lines: string[] = ['#']
  for (const word of words) {
    const line = lines.at(-1) ?? ''
    if (line.length + word.length + 1 > WIDTH) lines.push(`# ${word}`)
    else lines[lines.length - 1] = `${line} ${word}`
  }
  return `${lines.join('\n')}\n`
}
