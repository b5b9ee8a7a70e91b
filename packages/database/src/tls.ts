import { readFileSync } from 'node:fs'
import { type ConnectionOptions } from 'node:tls'
import { DatabaseSetupError } from './database-setup-error'

/** How the driver uses TLS: false for not at all. */
export type Tls = false | ConnectionOptions

const PARAMETERS = ['sslmode', 'sslrootcert', 'sslcert', 'sslkey'] as const
/** The authorities that Node knows, as libpq takes those of the system. */
const SYSTEM = 'system'

const MODES = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify'] as const
type Mode = (typeof MODES)[number]

/**
 * What `sslmode` of a Postgres URL means to libpq, in the order in which it is tried, and the URL without these parameters, which
 * the driver reads otherwise. No ways: the URL has none of them.
 * https://www.postgresql.org/docs/current/libpq-ssl.html
 * @throws DatabaseSetupError for an unknown mode or a file that cannot be read
 */
export function tlsOf(url: string): { url: string; ways: readonly Tls[] } {
  const parsed = new URL(url)
  const { searchParams } = parsed
  const [mode, rootFile, certificateFile, keyFile] = PARAMETERS.map(
    (name) => searchParams.get(name) ?? undefined,
  )
  if (mode === undefined && rootFile === undefined && certificateFile === undefined) return { url, ways: [] }
  for (const name of PARAMETERS) searchParams.delete(name)

  const authority =
    rootFile === undefined || rootFile === SYSTEM ? {} : { ca: readText('sslrootcert', rootFile) }
  const own = {
    ...(certificateFile === undefined ? {} : { cert: readText('sslcert', certificateFile) }),
    ...(keyFile === undefined ? {} : { key: readText('sslkey', keyFile) }),
  }
  const encrypted = { ...own, rejectUnauthorized: false }
  const ofAuthority = { ...own, ...authority, checkServerIdentity: () => undefined }
  const waysOf: Record<Mode, () => readonly Tls[]> = {
    disable: () => [false],
    allow: () => [false, encrypted],
    prefer: () => [encrypted, false],
    require: () => [rootFile === undefined ? encrypted : ofAuthority],
    'verify-ca': () => {
      if (rootFile === undefined)
        throw new DatabaseSetupError(
          'DATABASE_URL: sslmode=verify-ca needs sslrootcert=FILE, the certificate of the authority',
        )
      return [ofAuthority]
    },
    'verify-full': () => [{ ...own, ...authority }],
    'no-verify': () => [encrypted],
  }
  // libpq: with the authorities of the system, a weaker mode is as good as none.
  const meant = rootFile === SYSTEM ? 'verify-full' : (mode ?? 'prefer')
  return { url: parsed.href, ways: waysOf[parseMode(meant)]() }
}

function parseMode(text: string): Mode {
  const mode = MODES.find((one) => one === text)
  if (!mode) throw new DatabaseSetupError(`DATABASE_URL: sslmode must be one of ${MODES.join(', ')}`)
  return mode
}

function readText(name: string, file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (cause) {
    throw new DatabaseSetupError(`DATABASE_URL: the file of ${name} cannot be read`, { cause })
  }
}

/** The way that the server of a URL took. */
const taken = new Map<string, Tls>()

/** Opens a connection in the first way that the server takes. */
export async function withTls<T>(url: string, connect: () => Promise<T>): Promise<T> {
  const { ways } = tlsOf(url)
  for (const way of ways.slice(0, -1)) {
    taken.set(url, way)
    try {
      return await connect()
    } catch (error) {
      if (!isRefusalOf(way, error)) throw error
    }
  }
  const last = ways.at(-1)
  if (last !== undefined) taken.set(url, last)
  return connect()
}

/** Whether the server wants, or lacks, the other of TLS and none. */
function isRefusalOf(way: Tls, error: unknown): boolean {
  const { code, message } = error as { code?: string; message: string }
  return way === false ? code === '28000' : /does not support SSL/.test(message) || code === '28000'
}

/** The driver prefers the connection string to all other settings. */
export function connectionOf(url: string): { connectionString: string; ssl?: Tls } {
  const { url: connectionString, ways } = tlsOf(url)
  const ssl = taken.get(url) ?? ways[0]
  return { connectionString, ...(ssl === undefined ? {} : { ssl }) }
}

/**
 * The `sslmode` of a connected URL that uses TLS without a check of the certificate, so that anyone on the way can read along.
 * `no-verify` says that this is meant.
 */
export function uncheckedMode(url: string): string | undefined {
  const { ssl } = connectionOf(url)
  const mode = new URL(url).searchParams.get('sslmode') ?? 'prefer'
  return ssl && ssl.rejectUnauthorized === false && mode !== 'no-verify' ? mode : undefined
}

/** A certificate that cannot be trusted, by the codes of Node and OpenSSL. */
export const isCertificateError = (code: string): boolean =>
  /^(CERT_|ERR_TLS_|ERR_SSL_|ERR_OSSL_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|HOSTNAME_MISMATCH|INVALID_(CA|PURPOSE)|TlsConnectionError)/.test(
    code,
  )
