import { type SettlementMetrics } from '@tollgate/protocol'
import { useQuery } from '@tanstack/react-query'
import { withQuery } from '../../api/api'
import { get } from '../api'
import { type DayMetrics, daysBefore } from './metrics'

const INTERVAL_MS = 15_000
/** While a merchant waits for the first payment. */
const FIRST_STEPS_INTERVAL_MS = 5_000

/** Of the last days, today included. Days are UTC. */
export const useDailyMetrics = (days: number) =>
  useQuery({
    queryKey: ['daily', days],
    queryFn: ({ signal }) =>
      get<DayMetrics[]>(withQuery('/x402-metrics/daily', { from: daysBefore(new Date(), days - 1) }), signal),
    refetchInterval: INTERVAL_MS,
  })

/** Of all time. */
export const useTotals = () =>
  useQuery({
    queryKey: ['totals'],
    queryFn: ({ signal }) => get<SettlementMetrics>('/x402-metrics/summary', signal),
    refetchInterval: ({ state }) => (state.data?.settled === 0 ? FIRST_STEPS_INTERVAL_MS : false),
  })

type RequestTotals = { clients: { client_id: string; requests: number }[] }

/** Requests by client key, of all time. */
export const useRequestTotals = (isWanted: boolean) =>
  useQuery({
    queryKey: ['request totals'],
    queryFn: ({ signal }) => get<RequestTotals>('/metrics/summary', signal),
    enabled: isWanted,
    refetchInterval: FIRST_STEPS_INTERVAL_MS,
  })
