import { USDC_ADDRESS } from '@tollgate/devnet'
import { openFacilitatorDatabase } from '@tollgate/database'
import { type Page } from 'playwright-core'
import { type World } from './world'

/** Failed payments of a client key, each a second older than the one before; the oldest was of `count` of the smallest unit. */
export async function insertSettlements({ infrastructure }: World, clientId: string, count: number) {
  const { pool, close } = openFacilitatorDatabase({ url: infrastructure.postgres.facilitator, poolSize: 1 })
  try {
    await pool.query(
      `INSERT INTO settlements (network, asset, payer, nonce, pay_to, amount, client_id, request_hash, payload, status,
         error_reason, created_at, updated_at, resource)
       SELECT 'base-sepolia', $1, '0x' || encode(substr(digest, 1, 20), 'hex'), '0x' || encode(digest, 'hex'),
         '0x' || encode(substr(digest, 5, 20), 'hex'), number, $2, digest, '{}', 'failed', 'insufficient_funds', at, at,
         'https://shop.example/report/' || number
       FROM generate_series(1, $3::int) AS number,
         LATERAL (SELECT sha256(('settlement ' || $2 || number)::bytea) AS digest, now() - make_interval(secs => number) AS at) AS made`,
      [USDC_ADDRESS, clientId, count],
    )
  } finally {
    await close()
  }
}

/** Scrolls the list to its end again and again until all rows are read. Returns the most rows that were in the document at once. */
export const readToEnd = (page: Page): Promise<number> =>
  page.evaluate(`(async () => {
    const list = document.querySelector('.rows')
    const frame = () => new Promise(requestAnimationFrame)
    let most = 0
    while (!document.querySelector('main').textContent.match(/All [0-9,]+ rows/)) {
      const failure = document.querySelector('[role=alert]')
      if (failure) throw new Error(failure.textContent)
      list.scrollTop = list.scrollHeight
      await frame()
      most = Math.max(most, list.querySelectorAll('[role=row]').length)
    }
    return most
  })()`)
