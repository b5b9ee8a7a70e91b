import { z } from 'zod'
import { isPlainHttpToPublicHost, PLAIN_HTTP_REFUSED } from './outbound/plain-http'
import { problemOfServer } from './outbound/public-server'
import { problemsOf } from './problems'
import { isWeakSecret } from './weak-secret'

/** Marks a well-known secret, which production refuses. */
export const DEVELOPMENT_SECRET_PREFIX = 'development-only-'

/**
 * The service cannot run with this configuration. The message names each invalid setting and what it expects,
 * and contains no value.
 */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError'

  constructor(readonly problems: string[]) {
    super(
      `The service cannot run as it is configured:\n${problems.map((problem) => `  ${problem}`).join('\n')}`,
    )
  }
}

/**
 * Parses the environment with a schema whose members are named after the variables. A blank variable counts
 * as unset; surrounding spaces are dropped. With `NODE_ENV=production` it refuses values (including defaults)
 * that contain `development-only-`, those that their function in `developmentValues` recognizes, and what `production` tells.
 *
 * @throws ConfigurationError that lists all problems, without any value
 */
export function readEnvironment<S extends z.ZodObject>(
  schema: S,
  env: NodeJS.ProcessEnv,
  {
    developmentValues,
    renamed = {},
    production = {},
  }: {
    developmentValues?: Readonly<Partial<Record<keyof z.infer<S>, (value: string) => boolean>>>
    renamed?: Readonly<Record<string, keyof z.infer<S> & string>>
    production?: ProductionRules<keyof z.infer<S> & string>
  } = {},
): z.infer<S> {
  const names = Object.keys(schema.shape)
  const given = Object.fromEntries(names.map((name) => [name, env[name]?.trim() || undefined]))
  const result = schema.safeParse(given)

  const problems = result.success ? [] : problemsOf(result.error).map((problem) => sentence(problem, given))
  for (const [old, name] of Object.entries(renamed))
    if (env[old] !== undefined) problems.push(`${old}: renamed; set ${name} instead`)
  if (isProduction(env)) {
    const known: Partial<Record<string, (value: string) => boolean>> = developmentValues ?? {}
    for (const name of names) {
      const value = given[name] ?? (result.success ? result.data[name] : undefined)
      if (typeof value !== 'string') continue
      if (value.includes(DEVELOPMENT_SECRET_PREFIX) || known[name]?.(value))
        problems.push(`${name}: holds a value for development; set one of your own for NODE_ENV=production`)
    }
    const isNew = (problem: string) => {
      const [name = ''] = problem.split(':')
      return !problems.some((earlier) => earlier.startsWith(`${name}:`))
    }
    problems.push(...productionProblems(given, production).filter(isNew))
  }
  if (problems.length > 0 || !result.success) throw new ConfigurationError(problems)
  return result.data
}

/** By the variable as `env.mode` reads it, which refuses what is neither this nor another mode. */
export const isProduction = ({ NODE_ENV }: NodeJS.ProcessEnv): boolean => NODE_ENV?.trim() === 'production'

/** Whether the mode says so: one that is not set may be that of a server. */
export const isDevelopment = ({ NODE_ENV }: { NODE_ENV?: string | undefined }): boolean =>
  NODE_ENV === 'development' || NODE_ENV === 'test'

/** By the names of variables. */
type ProductionRules<Name extends string> = {
  /** Must be hard to guess, and different from each other. */
  secrets?: readonly Name[]
  /** Must be set, and why. */
  required?: Readonly<Partial<Record<Name, string>>>
  /** Must not be `http://` to a public host. */
  urls?: readonly Name[]
  /** Of Postgres and Redis: at a public host with a password that is not weak, Redis with TLS. */
  servers?: readonly Name[]
}

function productionProblems(
  given: Readonly<Record<string, string | undefined>>,
  { secrets = [], required = {}, urls = [], servers = [] }: ProductionRules<string>,
): string[] {
  const isSet = (name: string) => given[name] !== undefined
  const weak = secrets.filter((name) => isSet(name) && isWeakSecret(given[name] ?? ''))
  const missing = Object.entries(required).filter(([name]) => !isSet(name))
  const plain = urls.filter((name) => isPlainHttpToPublicHost(given[name] ?? ''))
  const equal = secrets.flatMap((name, index) =>
    secrets
      .slice(0, index)
      .filter((other) => isSet(name) && given[name] === given[other])
      .map((other) => `${name}: is the same secret as ${other}; make another one for NODE_ENV=production`),
  )
  return [
    ...weak.map((name) => `${name}: is easy to guess; set one that \`openssl rand -hex 32\` makes`),
    ...equal,
    ...missing.map(([name, reason]) => `${name}: not set; ${reason}`),
    ...plain.map((name) => `${name}: ${PLAIN_HTTP_REFUSED}`),
    ...servers.flatMap((name) => {
      const problem = problemOfServer(given[name] ?? '')
      return problem === undefined ? [] : [`${name}: ${problem}`]
    }),
  ]
}

function sentence({ field, problem }: { field: string; problem: string }, given: Record<string, unknown>) {
  const isSet = given[field.replace(/[.[].*$/, '')] !== undefined
  return `${field || 'the environment'}: ${isSet || !field ? problem : `not set; ${problem.replace(/^missing, /, '')}`}`
}

const TEN_YEARS = 315_360_000

/** Digits only: Number() would also accept a sign, an exponent, a fraction and hexadecimal. */
const whole = (min: number, max: number, wanted: string) =>
  z
    .string({ error: wanted })
    .regex(/^(0|[1-9]\d{0,14})$/, wanted)
    .transform(Number)
    .refine((value) => value >= min && value <= max, wanted)

const address = (protocols: readonly string[], wanted: string, fits: (url: URL) => boolean = () => true) =>
  z.string({ error: wanted }).refine((value) => {
    const url = URL.canParse(value) ? new URL(value) : undefined
    return url !== undefined && protocols.includes(url.protocol) && url.hostname !== '' && fits(url)
  }, wanted)

const word = (words: readonly [string, ...string[]], wanted: string) => z.enum(words, { error: wanted })

const items = z
  .string({ error: 'expected a list, separated by commas' })
  .transform((value) => value.split(',').map((item) => item.trim()))
  .refine(
    (values) => values.every((value) => value !== ''),
    'expected a list, separated by commas, without gaps',
  )

export const env = {
  /** 0 is any free port. */
  port: whole(0, 65_535, 'expected a port, 0 to 65535'),
  url: address(['http:', 'https:'], 'expected an address such as https://host:port/path').transform((value) =>
    value.replace(/\/+$/, ''),
  ),
  postgresUrl: address(
    ['postgres:', 'postgresql:'],
    'expected an address such as postgresql://user:password@host:5432/database',
    (url) => url.pathname.length > 1,
  ),
  redisUrl: address(['redis:', 'rediss:'], 'expected an address such as redis://:password@host:6379/0'),
  secret: (minBytes = 32) => {
    const wanted = `expected a secret of at least ${minBytes} bytes, such as \`openssl rand -hex ${minBytes}\` makes`
    return z.string({ error: wanted }).refine((value) => Buffer.byteLength(value) >= minBytes, wanted)
  },
  seconds: whole(1, TEN_YEARS, 'expected whole seconds, at least 1'),
  secondsUpTo: (max: number) => whole(1, max, `expected whole seconds, 1 to ${max}`),
  count: whole(0, 1e15 - 1, 'expected a whole number, 0 or more'),
  flag: word(['true', 'false', '1', '0'], 'expected true or false').transform(
    (value) => value === 'true' || value === '1',
  ),
  /** NODE_ENV. A value that is none of these may be a misspelled `production`. */
  mode: z.enum(['production', 'development', 'test'], {
    error: 'expected production, development or test',
  }),
  logLevel: z.enum(['error', 'warn', 'info', 'debug'], { error: 'expected error, warn, info or debug' }),
  text: z.string({ error: 'expected a text' }),
  list: <T extends z.ZodType<unknown, string>>(item: T) => items.pipe(z.array(item)),
}
