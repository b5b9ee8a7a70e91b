import { type Recipient } from '@tollgate/protocol'
import { useInfiniteQuery } from '@tanstack/react-query'
import { withQuery } from '../../api/api'
import { nextOffset } from '../../api/next-offset'
import { longList } from '../../ui/long-list'
import { get } from '../api'

const PAGE = 100

export const RECIPIENTS = ['recipients']

export const useRecipients = () =>
  useInfiniteQuery({
    queryKey: RECIPIENTS,
    queryFn: ({ pageParam, signal }) =>
      get<Recipient[]>(withQuery('/recipients', { offset: pageParam, limit: PAGE }), signal),
    initialPageParam: 0,
    getNextPageParam: nextOffset(PAGE),
    ...longList,
  })
