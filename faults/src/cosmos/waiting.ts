import { until } from '@tollgate/e2e/testing/paying'
import { type Environment } from '../environment'
import { type Cosmos } from './chain'

const SENT_WITHIN_SECONDS = 30

type CosmosEnvironment = Pick<Environment<Cosmos>, 'ledger' | 'chain'>

/**
 * Resolves when this many payments wait for a transaction (their own or a fee grant) and the node has all of
 * them.
 */
export async function allSigned(
  { ledger, chain }: CosmosEnvironment,
  payTo: string,
  count: number,
): Promise<void> {
  await until(
    () => ledger.paidTo(payTo),
    (rows) => rows.length === count && rows.every(({ status }) => status === 'signed'),
    SENT_WITHIN_SECONDS,
  )
  await allPending({ ledger, chain })
}

export async function allPending({ ledger, chain }: CosmosEnvironment): Promise<void> {
  await until(
    async () => ({
      signed: (await ledger.transactions()).filter(({ status }) => status === 'signed').length,
      pending: await chain.pending(),
    }),
    ({ signed, pending }) => signed > 0 && pending === signed,
    SENT_WITHIN_SECONDS,
  )
}
