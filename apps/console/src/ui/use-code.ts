import { useQuery } from '@tanstack/react-query'
import { ApiError } from '../api/api-error'
import { shared } from '../texts'

/** Code that is loaded on demand, for `Loaded`: with a skeleton, and a retry if the network fails, which `lazy` does not have. */
export const useCode = <T>(name: string, load: () => Promise<T>) =>
  useQuery({
    queryKey: ['code', name],
    queryFn: () =>
      load().catch((cause: unknown) => {
        throw new ApiError(0, 'UNREACHABLE', shared.failed.unreachable, undefined, { cause })
      }),
    staleTime: Infinity,
    // Modules are no data that could be compared.
    structuralSharing: false,
  })
