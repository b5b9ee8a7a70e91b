import { until } from '../../testing/paying'
import { type Ground } from '../ground'
import { type Cosmos } from './chain'

const SENT_WITHIN_SECONDS = 30

type Here = Pick<Ground<Cosmos>, 'books' | 'chain'>

/** Resolves when each of so many payments waits for a transaction, its own or one before it, and the node has all of these. */
export async function allSigned({ books, chain }: Here, payTo: string, count: number): Promise<void> {
  await until(
    () => books.paidTo(payTo),
    (rows) => rows.length === count && rows.every(({ status }) => status === 'signed'),
    SENT_WITHIN_SECONDS,
  )
  await allWait({ books, chain })
}

/** Resolves when the node has all transactions that are signed and not mined. */
export async function allWait({ books, chain }: Here): Promise<void> {
  await until(
    async () => ({
      signed: (await books.transactions()).filter(({ status }) => status === 'signed').length,
      pending: await chain.pending(),
    }),
    ({ signed, pending }) => signed > 0 && pending === signed,
    SENT_WITHIN_SECONDS,
  )
}
