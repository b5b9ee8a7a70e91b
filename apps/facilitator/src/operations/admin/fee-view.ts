import { type OperatorFees } from '@tollgate/protocol'
import { type Logger } from '@tollgate/service'
import { type Network } from '../../networks/network'
import { type createFeeReport } from '../fees/fee-report'
import { createCachedPart } from './cached-part'

const TTL_MS = 5_000
const TIMEOUT_MS = 5_000

/** The fees of 24 hours on each network. */
export function createFeeView(parts: {
  networks: readonly Network[]
  readFees: ReturnType<typeof createFeeReport>
  logger: Logger
}) {
  const { networks, readFees, logger } = parts
  const views = networks.map((network) => ({
    network,
    read: createCachedPart({
      name: `fees on ${network.name}`,
      read: () => readFees(network),
      ttlMs: TTL_MS,
      timeoutMs: TIMEOUT_MS,
      logger,
    }),
  }))

  return (): Promise<OperatorFees[]> =>
    Promise.all(
      views.map(async ({ network: { name, maxFeesPerDay, chain }, read }) => {
        const { value, error } = await read()
        const { symbol = null, decimals } = chain.signer.currency
        return {
          network: name,
          spent: value?.spent.toString() ?? null,
          cap: maxFeesPerDay?.toString() ?? null,
          nativeSymbol: symbol,
          nativeDecimals: decimals,
          newUsers: value ? toWire(value.newUsers) : null,
          users: value?.users.map(toWire) ?? [],
          clients: value?.clients.map(toWire) ?? [],
          error,
        }
      }),
    )
}

const toWire = <T extends { spent: bigint; limit: bigint | null }>({ spent, limit, ...rest }: T) => ({
  ...rest,
  spent: spent.toString(),
  limit: limit?.toString() ?? null,
})
