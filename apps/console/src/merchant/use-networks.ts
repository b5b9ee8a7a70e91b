import { type Asset } from '@tollgate/protocol'
import { useQuery } from '@tanstack/react-query'
import { askPublic } from './api'

export const useAssets = () =>
  useQuery({
    queryKey: ['assets'],
    queryFn: ({ signal }) => askPublic<Asset[]>('GET', '/assets', { signal }),
    staleTime: 60_000,
  })

/** Names of networks in which assets are accepted. */
export function useNetworkNames(): string[] {
  const { data = [] } = useAssets()
  return [...new Set(data.map(({ network }) => network))].sort()
}
