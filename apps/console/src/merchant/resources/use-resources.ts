import { type RegisteredResource } from '@tollgate/protocol'
import { useInfiniteQuery } from '@tanstack/react-query'
import { withQuery } from '../../api/api'
import { get } from '../api'
import { nextOffset } from '../../api/next-offset'
import { longList } from '../../ui/long-list'

const PAGE = 200

export const RESOURCES = ['resources']

export const useResources = () =>
  useInfiniteQuery({
    queryKey: RESOURCES,
    queryFn: async ({ pageParam, signal }) =>
      (
        await get<{ resources: RegisteredResource[] }>(
          withQuery('/users/resources', { offset: pageParam, limit: PAGE }),
          signal,
        )
      ).resources,
    initialPageParam: 0,
    getNextPageParam: nextOffset(PAGE),
    ...longList,
  })
