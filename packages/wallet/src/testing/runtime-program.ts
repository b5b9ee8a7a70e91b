/** What the tests of runtimes run in each: answers of a gateway, free and paid answers elsewhere, and a redirect. */
import { privateKeyToAccount } from 'viem/accounts'
import { isTollgateError } from '../errors.js'
import { createTollgate } from '../tollgate.js'
import { type WalletStorage } from '../storage/storage.js'

const ASSET = '0x036CbD53842c5426634e7929541eC2318f3dCF7e'

export async function runProgram(origin: string, storage?: WalletStorage) {
  const wallet = privateKeyToAccount(`0x${'1'.repeat(64)}`)
  const moved = createTollgate({ url: `${origin}/moved`, wallet })
  const tollgate = createTollgate({
    url: `${origin}/gateway`,
    wallet,
    limits: { assets: [{ network: 'eip155:84532', asset: ASSET, perPayment: 10_000n }] },
    ...(storage && { storage }),
  })
  const textOf = async (path: string) => (await tollgate.fetch(`${origin}${path}`)).text()
  return {
    free: await textOf('/free'),
    paid: await textOf('/paid'),
    plans: await tollgate.plans(),
    moved: await moved.plans().catch((error: unknown) => isTollgateError(error) && error.message),
    locked: await storage?.lock('name', () => storage.tryLock('name', () => Promise.resolve('twice'))),
  }
}
