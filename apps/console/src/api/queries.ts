import { QueryClient } from '@tanstack/react-query'
import { retryDelayOf, shouldRetry } from './retry'

/** Reads are repeated while the failure may pass. What changes something is sent once. */
export const createQueries = () =>
  new QueryClient({
    defaultOptions: {
      queries: {
        retry: shouldRetry,
        retryDelay: retryDelayOf,
        staleTime: 5_000,
        // A page that is offline shows what it has, and the error of the request.
        networkMode: 'always',
      },
      mutations: { retry: false, networkMode: 'always' },
    },
  })
