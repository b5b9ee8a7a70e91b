import { type FacilitatorDocument } from '@tollgate/protocol'
import { useQuery } from '@tanstack/react-query'
import { requestJson } from '../../api/api'

/** What this facilitator says of itself: its public address, and its assets by CAIP-2 network. */
export const useFacilitator = () =>
  useQuery({
    queryKey: ['facilitator'],
    queryFn: ({ signal }) => requestJson<FacilitatorDocument>('GET', '/.well-known/x402', { signal }),
    select: ({ facilitator }) => facilitator,
    staleTime: Infinity,
  })
