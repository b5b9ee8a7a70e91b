import { useQuery } from '@tanstack/react-query'
import { ApiError } from '../api/api-error'
import { shared } from '../texts'

/** Code that is loaded on demand, for `Loaded`: with a skeleton, and a retry if the network fails, which `lazy` does not have. */
export const useCode = <T>(name: string, load: () => Promise<T>, { isNeeded = true } = {}) =>
  useQuery({
    queryKey: ['code', name],
    queryFn: () => withStyles(load),
    enabled: isNeeded,
    staleTime: Infinity,
    // Modules are no data that could be compared.
    structuralSharing: false,
  })

async function withStyles<T>(load: () => Promise<T>): Promise<T> {
  try {
    const [code] = await Promise.all([load(), import('../shell/on-demand.css')])
    return code
  } catch (cause) {
    throw new ApiError(0, 'UNREACHABLE', shared.failed.unreachable, undefined, { cause })
  }
}
