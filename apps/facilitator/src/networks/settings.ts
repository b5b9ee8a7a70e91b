import { readFileSync } from 'node:fs'
import { families, NativeAmount, type NetworkSettings } from '@tollgate/chains'
import { caip2, Ecosystem } from '@tollgate/protocol'
import {
  ConfigurationError,
  env,
  isPlainHttpToPublicHost,
  isProduction,
  isWeakSecret,
  PLAIN_HTTP_REFUSED,
} from '@tollgate/service'
import { parse as parseYaml, YAMLParseError } from 'yaml'
import { z } from 'zod'
import { developmentPoints, isDevelopmentKey } from './development-keys'
import { list, whole } from './members'
import { RemoteSigners } from './remote-signers'

const AssetEntry = z.strictObject({
  asset: z.string().min(1).max(256),
  symbol: z.string().min(1).max(32),
  decimals: whole(0, 77),
  min_amount: z
    .string()
    .regex(/^[1-9][0-9]{0,77}$/, 'expected a number of smallest units, at least 1')
    .transform(BigInt)
    .optional(),
})

const NetworkEntry = z.object({
  name: z.string().regex(/^[a-z0-9][a-z0-9-]{0,63}$/, 'expected small letters, digits and hyphens'),
  ecosystem: Ecosystem,
  chain_id: z.string().min(1).max(64),
  rpc_urls: list(env.url),
  rpc_timeout_ms: whole(100, 60_000).prefault('5000'),
  signer_keys: list(
    z.string().regex(/^(0x)?[0-9a-fA-F]{64}$/, 'expected a private key of 64 hex digits'),
  ).optional(),
  remote_signers: RemoteSigners.optional(),
  confirmations: whole(1, 1_000).prefault('1'),
  min_remaining_validity_seconds: whole(1, 3_600).prefault('6'),
  max_gas: NativeAmount.prefault('300000'),
  max_fees_per_day: NativeAmount.optional(),
  signer_balance_warning: NativeAmount.optional(),
  assets: z.array(AssetEntry).prefault([]),
})
type NetworkEntry = z.infer<typeof NetworkEntry>

type AssetSettings = Omit<z.infer<typeof AssetEntry>, 'min_amount'> & {
  /** The minimum payment in the smallest unit. Default: the registered minimum, or that of new assets. */
  minAmount?: bigint
}
export type NetworkConfiguration = NetworkSettings & {
  own: object
  assets: readonly AssetSettings[]
  /**
   * In the native smallest unit: a lower balance is logged and exported. Default: a multiple of the chain's
   * fee for a payment.
   */
  signerBalanceWarning?: bigint
}

/**
 * The networks of the YAML file at `path`. `env:NAME` stands for an environment variable, so that secrets
 * stay out of the file.
 *
 * @throws ConfigurationError that lists every problem with its place in the file, without any value
 */
export function readNetworks(path: string, variables: NodeJS.ProcessEnv): NetworkConfiguration[] {
  const unset = new Map<string, string>()
  const given = withVariables(load(path), 'networks', variables, unset)
  const result = z.array(NetworkEntry, { error: 'expected a list of networks' }).min(1).safeParse(given)
  const entries = result.data ?? []
  const own = (Array.isArray(given) ? (given as unknown[]) : []).map(readOwn)

  const places = [...unset.keys()]
  const ownIssues = own.flatMap(({ error }, index) =>
    (error?.issues ?? []).map(({ path: at, message }) => ({ path: [index, ...at], message })),
  )
  const issues = [...(result.error?.issues ?? []), ...ownIssues, ...requireSigners(given)].map(
    ({ path: at, message }) => ({
      place: placeOf(at),
      message,
    }),
  )
  const problems = [
    ...places.map((place) => `${place}: the variable ${unset.get(place) ?? ''} that it refers to is not set`),
    ...issues
      .filter(({ place }) => !places.some((unsetPlace) => unsetPlace.startsWith(place)))
      .map(({ place, message }) => `${place}: ${message}`),
    ...renamedMembers(given),
    ...rejectDuplicates(entries),
    ...refuseRemoteSigners(entries),
    ...(isProduction(variables)
      ? [
          ...refuseDevelopmentKeys(entries),
          ...refuseWeakKeys(entries),
          ...refuseWeakRemoteSigners(entries),
          ...refusePlainHttp(entries),
          ...requireDailyFeeLimits(entries),
        ]
      : []),
  ]
  if (problems.length > 0)
    throw new ConfigurationError(problems.map((problem) => `NETWORKS_FILE: ${problem}`))
  return entries.map((entry, index) => settingsOf(entry, own[index]?.data ?? {}))
}

function readOwn(entry: unknown): z.ZodSafeParseResult<object> {
  const members = Object.entries(typeof entry === 'object' && entry !== null ? entry : {})
  const own = members.filter(([name]) => !(name in NetworkEntry.shape) && !(name in RENAMED))
  const { data: ecosystem } = Ecosystem.safeParse((entry as { ecosystem?: unknown } | null)?.ecosystem)
  const family = ecosystem && families[ecosystem]
  return (family?.configuration ?? z.object({})).safeParse(Object.fromEntries(own))
}

/** Not the reader of the gateway's catalog: the errors of that one may quote the text, and this file may hold secrets. */
function load(path: string): unknown {
  try {
    return parseYaml(readFileSync(path, 'utf8'), { schema: 'failsafe' })
  } catch (error) {
    if (!(error instanceof YAMLParseError))
      throw new ConfigurationError(['NETWORKS_FILE: no file can be read there'])
    // The parser's message quotes lines, which may contain a secret.
    const line = error.linePos?.[0].line ?? 1
    throw new ConfigurationError([`NETWORKS_FILE: line ${line} is not YAML (${error.code})`])
  }
}

function withVariables(
  value: unknown,
  place: string,
  variables: NodeJS.ProcessEnv,
  unset: Map<string, string>,
): unknown {
  if (Array.isArray(value))
    return value.map((item, index) => withVariables(item, `${place}[${index}]`, variables, unset))
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(
      Object.entries(value).map(([name, member]) => [
        name,
        withVariables(member, `${place}.${name}`, variables, unset),
      ]),
    )
  if (typeof value !== 'string' || !value.startsWith('env:')) return value
  const name = value.slice('env:'.length)
  const found = variables[name]?.trim()
  if (!found) unset.set(place, name)
  return found
}

/** Duplicates: a request must select one network, and one lock guards each signer's nonces. */
function rejectDuplicates(entries: readonly NetworkEntry[]): string[] {
  const names = entries.flatMap(({ name, ecosystem, chain_id }) => [name, `${ecosystem} chain ${chain_id}`])
  const repeated = repeatedIn(names)
  const spellings = entries.flatMap(({ name, ecosystem, chain_id }) => [
    ...new Set([name, chain_id, caip2({ ecosystem, chainId: chain_id })]),
  ])
  const ambiguous = repeated.length > 0 ? [] : repeatedIn(spellings)
  const twinKeys = entries.filter(({ signer_keys: keys = [] }) => new Set(keys.map(bare)).size < keys.length)
  return [
    ...repeated.map((name) => `${name} is there twice`),
    ...ambiguous.map((text) => `${text} names two networks, by name, chain_id or CAIP-2`),
    ...twinKeys.map(({ name }) => `the signer_keys of ${name} hold one key twice`),
  ]
}

const repeatedIn = (texts: readonly string[]) => texts.filter((text, index) => texts.indexOf(text) !== index)

const refuseDevelopmentKeys = (entries: readonly NetworkEntry[]) =>
  entries
    .filter(({ signer_keys = [] }) => signer_keys.some(isDevelopmentKey))
    .map(({ name }) => `the signer_keys of ${name} hold a key that everybody knows; use one of your own`)

const refuseWeakKeys = (entries: readonly NetworkEntry[]) =>
  entries
    .filter(({ signer_keys = [] }) =>
      signer_keys.some((key) => !isDevelopmentKey(key) && isWeakSecret(bare(key))),
    )
    .map(({ name }) => `the signer_keys of ${name} hold a key that is easy to guess; make a random one`)

function refuseWeakRemoteSigners(entries: readonly NetworkEntry[]): string[] {
  const known = entries.some(({ remote_signers }) => remote_signers) ? developmentPoints() : new Set<string>()
  return entries.flatMap(({ remote_signers: { publicPoints = [], token } = {} }, index) => {
    const place = (...path: PropertyKey[]) => placeOf([index, 'remote_signers', ...path])
    const knownKeys = publicPoints.flatMap((point, i) => (known.has(point) ? [place('public_keys', i)] : []))
    return [
      ...knownKeys.map((at) => `${at}: its private key is one that everybody knows; use one of your own`),
      ...(token !== undefined && isWeakSecret(token)
        ? [`${place('token')}: is easy to guess; set one that \`openssl rand -hex 32\` makes`]
        : []),
    ]
  })
}

const refusePlainHttp = (entries: readonly NetworkEntry[]) =>
  entries.flatMap(({ rpc_urls, remote_signers }, index) => [
    ...rpc_urls.flatMap((url, i) =>
      isPlainHttpToPublicHost(url) ? [`${placeOf([index, 'rpc_urls', i])}: ${PLAIN_HTTP_REFUSED}`] : [],
    ),
    ...(remote_signers && isPlainHttpToPublicHost(remote_signers.url)
      ? [`${placeOf([index, 'remote_signers', 'url'])}: ${PLAIN_HTTP_REFUSED}`]
      : []),
  ])

/** In the raw file: the schema stops at the first invalid member. */
const requireSigners = (given: unknown) =>
  (Array.isArray(given) ? (given as unknown[]) : []).flatMap((entry, index) =>
    typeof entry === 'object' && entry !== null && !('signer_keys' in entry) && !('remote_signers' in entry)
      ? [{ path: [index, 'signer_keys'], message: 'not set; expected signer_keys, remote_signers or both' }]
      : [],
  )

const refuseRemoteSigners = (entries: readonly NetworkEntry[]) =>
  entries.flatMap(({ ecosystem, remote_signers }, index) =>
    remote_signers === undefined || families[ecosystem]?.hasRemoteSigners === true
      ? []
      : [
          `${placeOf([index, 'remote_signers'])}: a remote signer signs Keccak-256 digests, which ${ecosystem} chains do not use; give signer_keys`,
        ],
  )

/** A user's share of the daily fees needs a daily fee limit. */
const requireDailyFeeLimits = (entries: readonly NetworkEntry[]) =>
  entries.flatMap(({ name, max_fees_per_day }, index) =>
    max_fees_per_day === undefined
      ? [
          `${placeOf([index, 'max_fees_per_day'])}: not set; expected the most that the fees of 24 hours on ${name} may come to, in its smallest native unit`,
        ]
      : [],
  )

const bare = (key: string) => key.toLowerCase().replace(/^0x/, '')

const settingsOf = (entry: NetworkEntry, own: object): NetworkConfiguration => ({
  name: entry.name,
  ecosystem: entry.ecosystem,
  chainId: entry.chain_id,
  rpcUrls: entry.rpc_urls,
  rpcTimeoutMs: entry.rpc_timeout_ms,
  signerKeys: (entry.signer_keys ?? []).map((key) => `0x${bare(key)}`),
  ...(entry.remote_signers === undefined ? {} : { remoteSigners: entry.remote_signers }),
  confirmations: entry.confirmations,
  minRemainingValiditySeconds: entry.min_remaining_validity_seconds,
  maxGas: entry.max_gas,
  ...(entry.max_fees_per_day === undefined ? {} : { maxFeesPerDay: entry.max_fees_per_day }),
  ...(entry.signer_balance_warning === undefined
    ? {}
    : { signerBalanceWarning: entry.signer_balance_warning }),
  own,
  assets: entry.assets.map(({ min_amount: minAmount, ...asset }) => ({
    ...asset,
    ...(minAmount === undefined ? {} : { minAmount }),
  })),
})

const RENAMED: Readonly<Record<string, string>> = {
  confirmation_budget_seconds: 'min_remaining_validity_seconds',
}

const renamedMembers = (given: unknown) =>
  (Array.isArray(given) ? (given as unknown[]) : []).flatMap((entry, index) =>
    Object.keys(typeof entry === 'object' && entry !== null ? entry : {}).flatMap((name) =>
      RENAMED[name] === undefined ? [] : [`${placeOf([index, name])}: renamed; set ${RENAMED[name]} instead`],
    ),
  )

const placeOf = (path: readonly PropertyKey[]) =>
  ['networks', ...path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`))].join('')
