import { type SettlementMetrics } from '@tollgate/protocol'
import { useQuery } from '@tanstack/react-query'
import { withQuery } from '../../api/api'
import { get } from '../api'
import { type DayMetrics, daysBefore } from './metrics'

/** Of the last days, today included. Days are UTC. */
export const useDailyMetrics = (days: number) =>
  useQuery({
    queryKey: ['daily', days],
    queryFn: ({ signal }) =>
      get<DayMetrics[]>(withQuery('/x402-metrics/daily', { from: daysBefore(new Date(), days - 1) }), signal),
  })

export const useTotals = () =>
  useQuery({
    queryKey: ['totals'],
    queryFn: ({ signal }) => get<SettlementMetrics>('/x402-metrics/summary', signal),
  })

type RequestTotals = { clients: { client_id: string; requests: number }[] }

/** Requests by client key, of all time. */
export const useRequestTotals = (isWanted: boolean) =>
  useQuery({
    queryKey: ['request totals'],
    queryFn: ({ signal }) => get<RequestTotals>('/metrics/summary', signal),
    enabled: isWanted,
  })
