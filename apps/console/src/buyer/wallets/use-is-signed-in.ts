import { useQuery } from '@tanstack/react-query'
import { type Tollgate } from '@tollgate/wallet'

/** Whether the client's private pages open without a signature. `account`: what the session belongs to. */
export function useIsSignedIn(client: Tollgate | undefined, account: readonly unknown[]): boolean {
  const { data = false } = useQuery({
    enabled: client !== undefined,
    queryKey: ['signed-in', ...account],
    queryFn: async () => (await client?.isSignedIn()) ?? false,
    retry: false,
  })
  return data
}
