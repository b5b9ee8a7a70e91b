import { Buffer } from 'node:buffer'
import { randomBytes } from 'node:crypto'
import { curveIsNative, recoverPublicKey, slowCurve } from '../../packages/chains/dist/secp256k1.js'
import { requireFrom } from './borrowed.mjs'

const { SigningKey } = requireFrom('packages/chains')('ethers')
const SIGNATURES = 64
const SLICES = 8

/**
 * Public key recoveries per second of processor time, by native code and by the library that replaces it. Both run alternately,
 * and the best round of each counts, because other load can only slow a round down.
 */
export function recoveryRates(seconds) {
  if (!curveIsNative) throw new Error('secp256k1 has no native build here: install with a compiler')
  const signed = Array.from({ length: SIGNATURES }, () => {
    const digest = randomBytes(32)
    const { r, s, yParity } = new SigningKey(randomBytes(32)).sign(digest)
    return { digest, rs: Buffer.from(r.slice(2) + s.slice(2), 'hex'), yParity }
  })
  const rate = (curve) => {
    const before = process.cpuUsage()
    const end = performance.now() + (seconds * 1000) / SLICES / 2
    let count = 0
    for (; performance.now() < end; count++) {
      const { digest, rs, yParity } = signed[count % SIGNATURES]
      if (recoverPublicKey(digest, rs, yParity, curve) === undefined) throw new Error('no key was found')
    }
    const { user, system } = process.cpuUsage(before)
    return (1e6 * count) / (user + system)
  }
  const turns = Array.from({ length: SLICES }, () => ({
    native: rate(undefined),
    slow: rate(slowCurve),
  }))
  const best = (name) => Math.max(...turns.map((turn) => turn[name]))
  return { native: best('native'), slow: best('slow') }
}
