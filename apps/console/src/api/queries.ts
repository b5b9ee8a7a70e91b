import { QueryClient } from '@tanstack/react-query'
import { isPassing } from './api-error'

const RETRIES = 3
const MAX_RETRY_DELAY_MS = 8_000

/** Reads are repeated while the failure may pass. What changes something is sent once. */
export const createQueries = () =>
  new QueryClient({
    defaultOptions: {
      queries: {
        retry: (failures, error) => failures < RETRIES && isPassing(error),
        retryDelay: (failures) => Math.min(500 * 2 ** failures, MAX_RETRY_DELAY_MS),
        staleTime: 5_000,
        // A page that is offline shows what it has, and the error of the request.
        networkMode: 'always',
      },
      mutations: { retry: false, networkMode: 'always' },
    },
  })
