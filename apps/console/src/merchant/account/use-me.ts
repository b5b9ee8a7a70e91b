import { type User } from '@tollgate/protocol'
import { useQuery } from '@tanstack/react-query'
import { get } from '../api'

export type Me = User

export const ME = ['me']

export const useMe = () =>
  useQuery({ queryKey: ME, queryFn: ({ signal }) => get<Me>('/users/me', signal), staleTime: Infinity })
