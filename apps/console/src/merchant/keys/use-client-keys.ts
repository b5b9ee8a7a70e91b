import { type ClientKey } from '@tollgate/protocol'
import { useInfiniteQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { withQuery } from '../../api/api'
import { isolated } from '../../ui/isolated'
import { get } from '../api'
import { nextOffset } from '../../api/next-offset'

const PAGE = 100

export const KEYS = ['keys']

export const useClientKeys = () =>
  useInfiniteQuery({
    queryKey: KEYS,
    queryFn: ({ pageParam, signal }) =>
      get<ClientKey[]>(withQuery('/clients', { offset: pageParam, limit: PAGE }), signal),
    initialPageParam: 0,
    getNextPageParam: nextOffset(PAGE),
    staleTime: 30_000,
  })

export const readNewestKeys = () => get<ClientKey[]>(withQuery('/clients', { limit: PAGE }))

/** By client id, of the newest keys. */
export function useKeyTitles(): ReadonlyMap<string, string> {
  const { data } = useClientKeys()
  return useMemo(
    () => new Map(data?.pages.flat().map(({ clientId, title }) => [clientId, isolated(title)])),
    [data],
  )
}
