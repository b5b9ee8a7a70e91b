import { z } from 'zod'
import { obviousKeysIn } from './obvious-key'
import { problemOfReferences } from './reference-problem'
import { asReference, referencesIn } from './secret-references'

/** They frame a request, or the gateway sets them for each call. */
const OWN_HEADERS: ReadonlySet<string> = new Set([
  ...['accept', 'accept-encoding', 'connection', 'content-encoding', 'content-length', 'content-type'],
  ...['expect', 'host', 'keep-alive', 'proxy-connection', 'te', 'trailer', 'transfer-encoding', 'upgrade'],
  ...['traceparent', 'tracestate', 'user-agent', 'x-cosmos-block-height'],
])
const MAX_HEADERS = 16

const CREDENTIAL = /auth|cookie|credential|key|pass|secret|signature|token/

const HeaderName = z
  .string()
  .regex(/^[a-z0-9!#$%&'*+.^_`|~-]{1,64}$/i, 'must be a header’s name')
  .refine((name) => !OWN_HEADERS.has(name.toLowerCase()), 'is a header that the gateway sets itself')

const HeaderValue = z
  .string()
  .max(2_048)
  .regex(/^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/, 'must be one line of ASCII')
  .transform(asReference)
  .superRefine((value, context) => {
    const message = problemOfReferences(value)
    if (message) context.addIssue({ code: 'custom', message })
  })

const holdsLiteralSecret = (name: string, value: string) =>
  referencesIn(value).length === 0 &&
  (CREDENTIAL.test(name.toLowerCase()) ||
    obviousKeysIn(`http://host/${value.replace(/[\s?#]+/g, '/')}`).length > 0)

const inSmallLetters = (headers: Record<string, string>) =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))

/** Names are in small letters. A value that looks like a credential must be a reference. */
export const UpstreamHeaders = z
  .record(HeaderName, HeaderValue)
  .superRefine((headers, context) => {
    const refuse = (name: string, message: string) =>
      context.addIssue({ code: 'custom', path: [name], message })
    const seen = new Set<string>()
    for (const [name, value] of Object.entries(headers)) {
      if (seen.has(name.toLowerCase())) refuse(name, 'is there twice')
      seen.add(name.toLowerCase())
      if (holdsLiteralSecret(name, value))
        refuse(name, 'must not hold a secret itself, but ${env:NAME} or ${file:/path}')
    }
  })
  .refine((headers) => Object.keys(headers).length <= MAX_HEADERS, `must be at most ${MAX_HEADERS} headers`)
  .transform(inSmallLetters)
