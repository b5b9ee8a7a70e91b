import { openFacilitatorDatabase } from '@tollgate/database'
import { closeLater, migratedDatabase, runMain } from '@tollgate/testing'
import { main } from '../operations/cli/cli'
import { settlementRows } from './settlement-rows'

export const payer = '0x1111111111111111111111111111111111111111'
export const signer = '0x2222222222222222222222222222222222222222'
export const hashes = ['a', 'b'].map((digit) => `0x${digit.repeat(64)}`)

export type Operator = Awaited<ReturnType<typeof newOperator>>

export async function newOperator() {
  const DATABASE_URL = await migratedDatabase('facilitator')
  const { pool, close } = openFacilitatorDatabase({ url: DATABASE_URL, poolSize: 2 })
  closeLater(close)
  const rows = settlementRows(pool)
  const clientId = await rows.client(await rows.user('shop@example.com'), 'The "Shop"')
  for (const network of ['base-sepolia', 'base']) await rows.asset(network)

  const facilitator = (args: string[], environment: NodeJS.ProcessEnv = { DATABASE_URL }) =>
    runMain(main, args, environment)

  const settlement = (row: Parameters<typeof rows.settlement>[1] = {}) => rows.settlement(clientId, row)

  return {
    DATABASE_URL,
    pool,
    rows,
    clientId,
    facilitator,
    settlements: (...args: string[]) => facilitator(['settlements', ...args]),
    settlement,

    async clear() {
      await pool.query(
        'TRUNCATE settlements, transactions, transaction_versions, fee_allocations RESTART IDENTITY CASCADE',
      )
    },

    async oneOfEach() {
      const transactionId = await rows.transaction({ signer, nonce: 7n, versions: hashes })
      const mined = await rows.transaction({ signer, nonce: 6n, status: 'mined' })
      return {
        signed: await settlement({ status: 'signed', transactionId, ageSeconds: 192, payer }),
        claimed: await settlement({ ageSeconds: 400, attempts: 3, lastError: 'waits\nfor \u001b[31mfunds' }),
        reversed: await settlement({ status: 'reversed', ageSeconds: 90_000, isReported: true }),
        other: await settlement({ network: 'base', ageSeconds: 5 }),
        settled: await settlement({ status: 'settled', transactionId: mined }),
        failed: await settlement({ status: 'failed', errorReason: 'payment_expired' }),
        forGood: await settlement({
          status: 'reversed',
          errorReason: 'invalid_transaction_state',
          isReported: true,
        }),
      }
    },
  }
}

export const linesOf = ({ out }: { out: string }) => out.trimEnd().split('\n')

export function columnOf(lines: readonly string[], heading: string): string[] {
  const [head = '', ...rest] = lines
  const at = head.indexOf(heading)
  return rest.map((line) => line.slice(at).split('  ')[0]!.trimEnd())
}
