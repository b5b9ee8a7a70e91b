import { until } from '@tollgate/e2e/testing/paying'
import { type Environment } from './environment'

const SENT_WITHIN_SECONDS = 30

/** A pending transaction; `offer` is its maximum fee per gas in wei. */
type Waiting = { signer: string; nonce: bigint | null; hash: string; offer: bigint }

/** The pending transactions, once all of this many payments to `payTo` are in one and the node has them. */
export async function waiting(
  { ledger, chain }: Environment,
  payTo: string,
  count: number,
): Promise<Waiting[]> {
  await until(
    () => ledger.paidTo(payTo),
    (rows) =>
      rows.length === count &&
      rows.every(({ status, transaction }) => status === 'signed' && transaction !== null),
    SENT_WITHIN_SECONDS,
  )
  const signed = (await ledger.transactions()).filter(({ status }) => status === 'signed')
  return Promise.all(
    signed.map(async ({ signer, nonce, hash }) => {
      const found = await until(
        async () => (await chain.rpc('eth_getTransactionByHash', hash)) as { maxFeePerGas: string } | null,
        (transaction) => transaction !== null,
        SENT_WITHIN_SECONDS,
      )
      return { signer, nonce, hash, offer: BigInt(found?.maxFeePerGas ?? 0) }
    }),
  )
}

export async function mineAt({ chain }: Environment, baseFee: bigint) {
  await chain.mine({ baseFee })
  const timer = setInterval(() => void chain.mine({ baseFee }).catch(() => undefined), 1_000)
  return { stop: () => clearInterval(timer) }
}
