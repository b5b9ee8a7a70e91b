import { type SignUpMode } from '@tollgate/protocol'
import { useQuery } from '@tanstack/react-query'
import { askPublic } from '../api'

export const useSignUpMode = () =>
  useQuery({
    queryKey: ['sign-up'],
    queryFn: async ({ signal }) =>
      (await askPublic<{ mode: SignUpMode }>('GET', '/sign-up', { signal })).mode,
  })
