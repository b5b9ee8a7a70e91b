import { SigningKey } from 'ethers'
import { Agent, request } from 'undici'
import { z } from 'zod'
import { SignerUnavailable, type SignerFailure } from '../errors'
import type { RemoteSignerSettings } from '../family'
import { isSignature } from '../secp256k1'
import type { SignatureScheme, Signer } from './signer'

/** Its answers: a signature, or the list of its public keys. */
const MAX_RESPONSE_BYTES = 1024 * 1024
const MAX_SIGNATURE_CHARACTERS = 200
const FIRST_PAUSE_MS = 500
const LAST_PAUSE_MS = 15_000
/** A service that answers some requests and is silent to others would otherwise be waited for in each round. */
const RELIABLE_AFTER_MS = 2 * LAST_PAUSE_MS
/** As many as transactions of a signer may be pending, and one for a check: no signer waits for connections of another. */
const CONNECTIONS_OF_SIGNER = 17

const PublicKeys = z.array(z.string())
const Signature = z.string().regex(/^0x[0-9a-f]{130}$/i)

const UNREACHABLE = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT'])

/**
 * The signers of a network whose keys are held by a Web3Signer (`/api/v1/eth1`). It signs the Keccak-256 digest of what it is sent, so
 * only families with that digest can use it.
 */
export function createRemoteSigners(
  { url, publicPoints, token, tls, timeoutMs }: RemoteSignerSettings,
  { addressOf, digestOf }: SignatureScheme,
) {
  const agent = new Agent({
    connections: CONNECTIONS_OF_SIGNER * publicPoints.length,
    maxResponseSize: MAX_RESPONSE_BYTES,
    connect: { timeout: timeoutMs, ...tls },
  })
  const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` }

  async function send(path: string, body?: unknown): Promise<string> {
    try {
      const response = await request(`${url}/${path}`, {
        ...(body === undefined
          ? { method: 'GET', headers }
          : {
              method: 'POST',
              headers: { ...headers, 'content-type': 'application/json' },
              body: JSON.stringify(body),
            }),
        signal: AbortSignal.timeout(timeoutMs),
        dispatcher: agent,
      })
      const text = await response.body.text()
      // A redirect is refused too: what it points to is not the configured signer.
      if (response.statusCode !== 200)
        throw new SignerUnavailable(
          'refused',
          `the remote signer answered with HTTP status ${response.statusCode}`,
        )
      return text
    } catch (error) {
      throw asUnavailable(error, timeoutMs)
    }
  }

  function signerOf(point: string): Signer {
    const publicKey = compress(point)
    const availability = createAvailability()

    async function requestSignature(message: Uint8Array): Promise<Uint8Array> {
      const text = await send(`api/v1/eth1/sign/0x${point}`, {
        data: `0x${Buffer.from(message).toString('hex')}`,
      })
      const { data } = Signature.safeParse(text.slice(0, MAX_SIGNATURE_CHARACTERS).trim())
      // The last byte only tells which of two points recovers the key, and signers spell it in several ways.
      const rs = data === undefined ? undefined : new Uint8Array(Buffer.from(data.slice(2, 130), 'hex'))
      if (rs === undefined)
        throw new SignerUnavailable('invalid', 'the remote signer answered with no signature')
      if (!isSignature(digestOf(message), rs, publicKey))
        throw new SignerUnavailable(
          'invalid',
          'the remote signer answered with a signature that is not of its key',
        )
      return rs
    }

    async function check(): Promise<string | undefined> {
      try {
        await send('upcheck')
        const { data: keys } = PublicKeys.safeParse(parseJson(await send('api/v1/eth1/publicKeys')))
        if (keys === undefined) return 'the remote signer lists no public keys'
        return keys.some((key) => key.toLowerCase().endsWith(point))
          ? undefined
          : 'the remote signer does not have the key'
      } catch (error) {
        return (error as Error).message
      }
    }

    return {
      address: addressOf(publicKey),
      publicKey,
      async sign(message) {
        try {
          const signature = await requestSignature(message)
          availability.succeeded()
          return signature
        } catch (error) {
          availability.failed()
          throw error
        }
      },
      remote: { check, isAvailable: () => availability.read(check) },
    }
  }

  return {
    signers: publicPoints.map(signerOf),
    close: () => void agent.destroy().catch(() => undefined),
  }
}

/**
 * After a failure nothing is signed for a while, longer after each further one, and then only if a check succeeds. Further are
 * failures until RELIABLE_AFTER_MS have passed without one.
 */
export function createAvailability(monotonicMs: () => number = () => performance.now()) {
  let failures = 0
  let failedAt = 0
  let pausedUntil = 0
  let checking: Promise<boolean> | undefined

  function failed(): void {
    // Batches that are signed together fail together.
    failedAt = monotonicMs()
    if (failedAt < pausedUntil) return
    pausedUntil = failedAt + Math.min(FIRST_PAUSE_MS * 2 ** failures, LAST_PAUSE_MS)
    failures++
  }
  return {
    succeeded(): void {
      if (monotonicMs() - failedAt > RELIABLE_AFTER_MS) failures = 0
    },
    failed,
    async read(check: () => Promise<string | undefined>): Promise<boolean> {
      if (failures === 0) return true
      if (monotonicMs() < pausedUntil) return false
      checking ??= check()
        .then((problem) => {
          // As after the first failure: a service that is back is used within a second.
          if (problem !== undefined) pausedUntil = monotonicMs() + FIRST_PAUSE_MS
          return problem === undefined
        })
        .finally(() => (checking = undefined))
      return checking
    },
  }
}

/**
 * The 64 bytes of an uncompressed public key in hex, as Web3Signer spells its identifiers; undefined if `text` is no point of the
 * curve in that form.
 */
export function publicPoint(text: string): string | undefined {
  const [, point] = /^(?:0x)?(?:04)?([0-9a-f]{128})$/i.exec(text) ?? []
  if (point === undefined) return undefined
  try {
    compress(point)
    return point.toLowerCase()
  } catch {
    return undefined
  }
}

const compress = (point: string): Uint8Array =>
  new Uint8Array(Buffer.from(SigningKey.computePublicKey(`0x04${point}`, true).slice(2), 'hex'))

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Never contains the URL. */
function asUnavailable(error: unknown, timeoutMs: number): SignerUnavailable {
  if (error instanceof SignerUnavailable) return error
  const { name, code } = error as { name?: string; code?: string }
  const failure: SignerFailure =
    name === 'TimeoutError' ? 'timeout' : UNREACHABLE.has(code ?? '') ? 'unreachable' : 'refused'
  const text =
    failure === 'timeout'
      ? `gave no answer within ${timeoutMs} ms`
      : `failed with ${code ?? name ?? 'an error'}`
  return new SignerUnavailable(failure, `the remote signer ${text}`)
}
