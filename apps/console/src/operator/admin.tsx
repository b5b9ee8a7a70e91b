import { keepPreviousData, useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query'
import { createContext, type ReactNode, useContext, useMemo, useState } from 'react'
import { type Method, requestJson, withQuery } from '../api/api'
import { ApiError, isApiError } from '../api/api-error'
import { nextOffset } from '../api/next-offset'
import { allowedStorage } from '../ui/allowed-storage'
import { longList } from '../ui/long-list'

/** For this tab only: closing it forgets the token. */
const STORED_TOKEN = 'tollgate-admin-token'
const storage = allowedStorage(() => window.sessionStorage)
const REFRESH_INTERVAL_MS = 5_000

type Request = <T>(method: Method, path: string, body?: unknown, signal?: AbortSignal) => Promise<T>

type Admin = {
  isSignedIn: boolean
  /** The service has refused a token that it accepted before. */
  isRefused: boolean
  /** Rejects if the service does not accept the token. */
  signIn(token: string): Promise<void>
  signOut(): void
  /** The `data` of a response of `/admin`. A token that is refused signs out. */
  request: Request
}

const Context = createContext<Admin | undefined>(undefined)

const send = async <T,>(token: string, [method, path, body, signal]: Parameters<Request>): Promise<T> => {
  const headers = { authorization: `Bearer ${token}` }
  return (await requestJson<{ data: T }>(method, `/admin${path}`, { headers, body, signal })).data
}

export const isUnauthorized = (error: unknown) => isApiError(error) && error.status === 401

export function AdminProvider({ children }: { children: ReactNode }) {
  const queries = useQueryClient()
  const [token, setToken] = useState(() => storage.getItem(STORED_TOKEN) ?? undefined)
  const [isRefused, setIsRefused] = useState(false)

  const admin = useMemo<Admin>(() => {
    function signOut() {
      storage.removeItem(STORED_TOKEN)
      setToken(undefined)
      queries.removeQueries({ queryKey: ['admin'] })
    }
    return {
      isSignedIn: token !== undefined,
      isRefused,
      async signIn(given) {
        await send(given, ['GET', '/overview'])
        storage.setItem(STORED_TOKEN, given)
        setIsRefused(false)
        setToken(given)
      },
      signOut,
      async request(...request) {
        if (token === undefined) throw new ApiError(401, 'UNAUTHORIZED', '')
        try {
          return await send(token, request)
        } catch (error) {
          if (isUnauthorized(error)) {
            signOut()
            setIsRefused(true)
          }
          throw error
        }
      },
    }
  }, [token, isRefused, queries])
  return <Context value={admin}>{children}</Context>
}

export function useAdmin(): Admin {
  const admin = useContext(Context)
  if (!admin) throw new Error('useAdmin needs an AdminProvider')
  return admin
}

type ReadOptions = {
  isLive?: boolean
  /** While another path is read, the data of the one before is shown. */
  keepsPrevious?: boolean
}

/** A list of `/admin` that is read page by page: `limit` and `offset` are added to the path. */
export function useAdminPages<Row>(path: string, limit: number) {
  const { request } = useAdmin()
  return useInfiniteQuery({
    queryKey: ['admin', path, 'pages'],
    queryFn: ({ pageParam: offset, signal }) =>
      request<Row[]>('GET', withQuery(path, { offset, limit }), undefined, signal),
    initialPageParam: 0,
    getNextPageParam: nextOffset(limit),
    ...longList,
  })
}

/** Read again every few seconds, while the page is visible. */
export function useAdminData<T extends object>(path: string, options: ReadOptions = {}) {
  const { request } = useAdmin()
  return useQuery<T>({
    queryKey: ['admin', path],
    queryFn: ({ signal }) => request<T>('GET', path, undefined, signal),
    refetchInterval: options.isLive === false ? false : REFRESH_INTERVAL_MS,
    ...(options.keepsPrevious === true ? { placeholderData: keepPreviousData } : {}),
  })
}
