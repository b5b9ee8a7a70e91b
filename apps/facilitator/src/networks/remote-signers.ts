import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import { publicPoint, type RemoteSignerSettings } from '@tollgate/chains'
import { env } from '@tollgate/service'
import { z } from 'zod'
import { list, whole } from './members'

const PublicKey = z.string().transform((text, context) => {
  const point = publicPoint(text)
  if (point !== undefined) return point
  context.addIssue({
    code: 'custom',
    message: 'expected an uncompressed secp256k1 public key of 128 hex digits',
  })
  return z.NEVER
})

const PemFile = z.string().transform((path, context) => {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    context.addIssue({ code: 'custom', message: 'no file can be read there' })
    return z.NEVER
  }
})

const hasNoCredentials = (url: string) =>
  !URL.canParse(url) || new URL(url).username + new URL(url).password === ''

/** The keys of a Web3Signer that sign for a network. */
export const RemoteSigners = z
  .strictObject({
    url: env.url.refine(hasNoCredentials, 'expected an address without user and password; set token'),
    public_keys: list(PublicKey).refine(
      (points) => new Set(points).size === points.length,
      'expected each public key once',
    ),
    token: z
      .string()
      .regex(/^[\x21-\x7e]{1,4096}$/, 'expected visible ASCII characters without spaces')
      .optional(),
    ca_file: PemFile.optional(),
    certificate_file: PemFile.optional(),
    key_file: PemFile.optional(),
    // One at a time, while a database transaction is open: see docs/signers.md.
    timeout_ms: whole(100, 5_000).prefault('2000'),
  })
  .transform((given, context): RemoteSignerSettings => {
    const { url, public_keys: publicPoints, token, timeout_ms: timeoutMs } = given
    const tls = {
      ...(given.ca_file === undefined ? {} : { ca: given.ca_file }),
      ...(given.certificate_file === undefined ? {} : { cert: given.certificate_file }),
      ...(given.key_file === undefined ? {} : { key: given.key_file }),
    }
    const problem = findTlsProblem(url, tls)
    if (problem !== undefined) context.addIssue({ code: 'custom', message: problem })
    return {
      ...{ url, publicPoints, timeoutMs },
      ...(token === undefined ? {} : { token }),
      ...(Object.keys(tls).length === 0 ? {} : { tls }),
    }
  })

function findTlsProblem(url: string, tls: NonNullable<RemoteSignerSettings['tls']>): string | undefined {
  if (Object.keys(tls).length === 0) return undefined
  if (!url.startsWith('https:')) return 'expected an https:// url with ca_file, certificate_file and key_file'
  if ((tls.cert === undefined) !== (tls.key === undefined))
    return 'expected certificate_file and key_file together'
  try {
    createSecureContext(tls)
    // A context ignores an authority that it cannot read.
    if (tls.ca !== undefined) new X509Certificate(tls.ca)
    return undefined
  } catch {
    return 'expected PEM files: ca_file, and a certificate_file with its key_file'
  }
}
