import { type Pool } from '@tollgate/database'
import { type OperatorSigner } from '@tollgate/protocol'
import { type Logger } from '@tollgate/service'
import { type Network } from '../../networks/network'
import { readLeaders } from '../signers/leaders'
import { readPendingTransactions, type PendingTransactions } from '../signers/pending-transactions'
import { createCachedPart } from './cached-part'

const BALANCE_TTL_MS = 10_000
const DATABASE_TTL_MS = 2_000
const TIMEOUT_MS = 3_000

type Signer = { network: Network; signer: string }

export type SignerView = ReturnType<typeof createSignerView>

/** The configured signers, and those without a key whose transactions are pending. */
export function createSignerView(parts: { networks: readonly Network[]; pool: Pool; logger: Logger }) {
  const { networks, pool, logger } = parts
  const configured = networks.flatMap((network) =>
    network.chain.signer.addresses.map((signer) => ({ network, signer })),
  )
  const views = configured.map(({ network, signer }) => ({
    network,
    signer,
    readProblem: createCachedPart({
      name: `state of ${signer} on ${network.name}`,
      read: () => network.chain.signer.findProblem(signer),
      ttlMs: BALANCE_TTL_MS,
      timeoutMs: TIMEOUT_MS,
      logger,
    }),
    readBalance: createCachedPart({
      name: `balance of ${signer} on ${network.name}`,
      read: () => network.chain.signer.funds(signer),
      ttlMs: BALANCE_TTL_MS,
      timeoutMs: TIMEOUT_MS,
      logger,
    }),
  }))
  const readDatabase = createCachedPart({
    name: 'leaders and pending transactions',
    async read() {
      const [leaders, pending] = await Promise.all([
        readLeaders(pool, configured),
        readPendingTransactions(pool),
      ])
      return { leaders, pending }
    },
    ttlMs: DATABASE_TTL_MS,
    timeoutMs: TIMEOUT_MS,
    logger,
  })

  return async (): Promise<{ signers: OperatorSigner[]; error: string | null }> => {
    const [database, problems, balances] = await Promise.all([
      readDatabase(),
      Promise.all(views.map(({ readProblem }) => readProblem())),
      Promise.all(views.map(({ readBalance }) => readBalance())),
    ])
    const { leaders, pending } = database.value ?? {}
    const signers = views.map(({ network, signer }, index): OperatorSigner => {
      const { value: balance, error = null } = balances[index] ?? {}
      const { signerBalanceWarning: threshold } = network
      return {
        ...currencyOf(network),
        network: network.name,
        address: signer,
        isConfigured: true,
        balance: balance?.toString() ?? null,
        threshold: threshold.toString(),
        isLow: balance === undefined ? null : balance < threshold,
        pendingTransactions: pending ? countOf(pending, network.name, signer) : null,
        leader: leaders?.[index] ?? null,
        error: error ?? problems[index]?.value ?? problems[index]?.error ?? null,
      }
    })
    return { signers: [...signers, ...removedSigners(pending ?? [], configured)], error: database.error }
  }
}

const currencyOf = ({ chain }: Network) => {
  const { symbol = null, decimals } = chain.signer.currency
  return { nativeSymbol: symbol, nativeDecimals: decimals }
}

const countOf = (pending: readonly PendingTransactions[], network: string, signer: string): number =>
  Number(pending.find((row) => row.network === network && row.signer === signer)?.count ?? 0n)

const removedSigners = (
  pending: readonly PendingTransactions[],
  configured: readonly Signer[],
): OperatorSigner[] =>
  pending
    .filter(
      (row) =>
        !configured.some(({ network, signer }) => row.network === network.name && row.signer === signer),
    )
    .map(({ network, signer, count }) => ({
      network,
      address: signer,
      isConfigured: false,
      balance: null,
      threshold: null,
      isLow: null,
      pendingTransactions: Number(count),
      leader: null,
      nativeSymbol: null,
      nativeDecimals: null,
      error: null,
    }))
