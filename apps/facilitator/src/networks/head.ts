import { type Chain } from '@tollgate/chains'

const FRESH_MS = 1_000
const PATIENCE_MS = 3_000

/**
 * The newest block of a chain, at most a second old however many ask; undefined where the chain gave no answer within
 * three seconds.
 */
export function createHead(chain: Pick<Chain, 'head'>): () => Promise<bigint | undefined> {
  let latest: Promise<bigint | undefined> | undefined

  async function ask() {
    let timer: NodeJS.Timeout | undefined
    const tooLate = new Promise<undefined>((resolve) => {
      timer = setTimeout(() => resolve(undefined), PATIENCE_MS)
    })
    const answer = chain.head().then(
      ({ number }) => number,
      () => undefined,
    )
    const block = await Promise.race([answer, tooLate])
    clearTimeout(timer)
    setTimeout(() => (latest = undefined), FRESH_MS).unref()
    return block
  }
  return () => (latest ??= ask())
}
