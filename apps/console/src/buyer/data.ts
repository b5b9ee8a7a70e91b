import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { type CreditBalance, type PaymentRecord, type Plan, type UsageRecord } from '@tollgate/wallet'
import { requestJson, withQuery } from '../api/api'
import { longList } from '../ui/long-list'
import { type PaymentProgress } from './purchase/purchase-steps'

/** What the gateway answers to reads. All but the catalog are of one wallet, and public. */

const PAGE_ROWS = 100
const CATALOG_STALE_MS = 60_000

export type Provider = {
  provider_id: string
  category: string
  chain_id: string
  network: string | null
  rpc: string[]
  rest: string[]
  description: string
  methods: Record<string, number>
}

export const usePlans = ({ isNeeded = true } = {}) =>
  useQuery({
    enabled: isNeeded,
    queryKey: ['plans'],
    queryFn: ({ signal }) => requestJson<Plan[]>('GET', '/pricing', { signal }),
    staleTime: CATALOG_STALE_MS,
  })

/** As CAIP-2. */
export const networkOf = (ecosystem: string, chainId: string): string =>
  `${ecosystem === 'evm' ? 'eip155' : ecosystem}:${chainId}`

export const useProviders = () =>
  useQuery({
    queryKey: ['providers'],
    queryFn: async ({ signal }) =>
      (await requestJson<{ data: Provider[] }>('GET', '/providers', { signal })).data,
    staleTime: CATALOG_STALE_MS,
  })

/** The name of a chain that is given by its chain id or as CAIP-2; the same text if it is not on sale. */
export function useChainName(): (chain: string) => string {
  const { data = [] } = useProviders()
  const names = new Map(
    data.flatMap(({ category, chain_id, network }) => [
      [chain_id, network ?? chain_id],
      [networkOf(category, chain_id), network ?? chain_id],
    ]),
  )
  return (chain) => names.get(chain) ?? chain
}

/** The chains on which plans of an ecosystem are paid. */
export function useChains(ecosystem: string): string[] {
  const { data = [] } = usePlans()
  return [...new Set(data.filter((plan) => plan.ecosystem === ecosystem).map(({ chain_id }) => chain_id))]
}

export const useCredits = (address: string) =>
  useQuery({
    queryKey: ['credits', address],
    queryFn: ({ signal }) => requestJson<CreditBalance[]>('GET', `/credits/${address}`, { signal }),
  })

type Page<Row> = { data: Row[]; pagination: { total: number } }

/** All rows, the newest first. A page begins after the last row of the one before, so no row is shown twice or missed. */
const usePages = <Row extends { id: string | number }>(path: string, name: string, address: string) =>
  useInfiniteQuery({
    queryKey: [name, address],
    initialPageParam: undefined as string | number | undefined,
    queryFn: async ({ signal, pageParam }) =>
      (
        await requestJson<Page<Row>>('GET', withQuery(path, { limit: PAGE_ROWS, before: pageParam }), {
          signal,
        })
      ).data,
    getNextPageParam: (page) => (page.length < PAGE_ROWS ? undefined : page.at(-1)?.id),
    ...longList,
  })

export const useCalls = (address: string) => usePages<UsageRecord>(`/history/${address}`, 'history', address)

export const usePayments = (address: string) =>
  usePages<PaymentRecord>(`/payments/${address}`, 'payments', address)

export const readPaymentProgress = (address: string, id: string, signal?: AbortSignal) =>
  requestJson<PaymentProgress>('GET', `/payments/${address}/${id}`, { signal })

/** The payments that have bought credits of a plan, of the newest ones. */
export async function readCreditedIds(address: string, planId: number): Promise<string[]> {
  const { data } = await requestJson<Page<PaymentRecord>>('GET', `/payments/${address}?limit=${PAGE_ROWS}`)
  return data
    .filter(({ status, pricing_plan_id: id }) => status === 'credited' && id === planId)
    .map(({ id }) => id)
}

/**
 * The newest payment of this nonce for the plan; null if the gateway does not know it: payments of several plans may have one
 * sequence of a Cosmos account. `id`: of the payment, if that is known.
 */
export async function readOwnPayment(
  { address, planId, nonce }: { address: string; planId: number; nonce: string },
  id: string | undefined,
): Promise<PaymentProgress | null> {
  if (id !== undefined) return readPaymentProgress(address, id)
  const path = `/payments/${address}?limit=${PAGE_ROWS}`
  const { data } = await requestJson<Page<PaymentRecord>>('GET', path)
  const found = data.find((one) => one.nonce === nonce && one.pricing_plan_id === planId)
  return found ? readPaymentProgress(address, found.id) : null
}

export const usePaymentProgress = (address: string, id: string) =>
  useQuery({
    queryKey: ['payments', address, id],
    queryFn: ({ signal }) => readPaymentProgress(address, id, signal),
    refetchInterval: ({ state }) => (isOver(state.data) ? false : POLL_INTERVAL_MS),
  })

export const POLL_INTERVAL_MS = 1_000

const isOver = (payment: PaymentProgress | undefined) =>
  payment?.step === 'credited' || payment?.step === 'failed'

export type UsageTotal = {
  period: string
  chain_id: string
  rpc_method: string | null
  calls: number
  credits: number
  failed: number
}

export const useUsage = (address: string, interval: 'hour' | 'day', from: string) =>
  useQuery({
    queryKey: ['usage', address, interval, from],
    queryFn: async ({ signal }) =>
      (
        await requestJson<{ data: UsageTotal[] }>('GET', withQuery(`/usage/${address}`, { interval, from }), {
          signal,
        })
      ).data,
  })
