import { readableLog } from '@tollgate/testing'
import { setTimeout as delay } from 'node:timers/promises'
import { callRpc, ownChain } from './chain'
import { type TestOptions } from './facilitator'
import { facilitatorWithClient } from './facilitator-with-client'
import { SENT } from './hostile'

const AN_HOUR = 3_600
const PATIENCE_MS = 40_000

export async function withManualMining(options: TestOptions = {}) {
  const { rpcUrl } = await ownChain({ blockTime: AN_HOUR })
  const log = readableLog()
  // As long as the timeout of `until`: the response arrives once the transaction is mined.
  const variables = { SETTLE_TIMEOUT_SECONDS: '50', ...options.variables }
  const { facilitator, signer, client, pool, settle, verify } = await facilitatorWithClient({
    rpcUrl,
    log: log.stream,
    ...options,
    variables,
  })
  const count = async (what: string) => {
    const { rows } = await pool.query<{ count: bigint }>(`SELECT count(*) FROM ${what}`)
    return Number(rows[0]?.count)
  }

  /** Waits until the table (with a condition) has this many rows. */
  async function until(what: string, wanted: number): Promise<void> {
    const deadline = performance.now() + PATIENCE_MS
    while ((await count(what)) !== wanted) {
      if (performance.now() > deadline) throw new Error(`there are ${await count(what)} ${what}`)
      await delay(20)
    }
  }

  const mine = () => callRpc(rpcUrl, 'evm_mine')

  /**
   * Mines pending transactions until there are this many rows. Mines no empty blocks: each may advance the
   * chain's clock by a second and expire payments.
   */
  async function mineUntil(what: string, wanted: number): Promise<void> {
    const deadline = performance.now() + PATIENCE_MS
    while ((await count(what)) !== wanted) {
      if (performance.now() > deadline) throw new Error(`there are ${await count(what)} ${what}`)
      const { pending } = (await callRpc(rpcUrl, 'txpool_status')) as { pending: string }
      if (Number(pending) > 0) await mine()
      await delay(50)
    }
  }

  return {
    rpcUrl,
    signer,
    log,
    facilitator,
    pool,
    client,
    settle,
    verify,
    count,
    mine,
    mineUntil,
    until,
    onTheirWay: (settlements: number) => until(SENT, settlements),
  }
}
