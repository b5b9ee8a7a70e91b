import { setTimeout as delay } from 'node:timers/promises'
import { newSigner, ownChain } from './chain'
import { type TestOptions } from './facilitator'
import { facilitatorWithClient } from './facilitator-with-client'
import { faulty } from './faulty'

const SIMULTANEITY_TIMEOUT_MS = 2_000

/** A facilitator with two signers, each of which waits for the other's first signature; the chain mines nothing. */
export async function withTwoSigners(options: TestOptions) {
  const { rpcUrl } = await ownChain({ blockTime: 3_600 })
  const signers = [await newSigner(rpcUrl), await newSigner(rpcUrl)]
  let signed = 0
  let bothSigned = () => {}
  const both = new Promise<void>((resolve) => (bothSigned = resolve))
  const families = faulty((chain) => ({
    signer: {
      async sign(transaction) {
        const result = await chain.signer.sign(transaction)
        if (++signed === 2) bothSigned()
        await Promise.race([both, delay(SIMULTANEITY_TIMEOUT_MS)])
        return result
      },
    },
  }))
  const signerKeys = signers.map(({ privateKey }) => privateKey)
  const on = await facilitatorWithClient({ rpcUrl, signerKeys, families, ...options })
  return { ...on, rpcUrl, hasSigned: () => signed > 0 }
}
