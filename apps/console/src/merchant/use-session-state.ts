import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useSyncExternalStore } from 'react'
import { session } from './api'

/** What was read for a user is forgotten when the user signs out, before the pages without a session read anything. */
export function useSessionState() {
  const queries = useQueryClient()
  useEffect(() => {
    const forget = () => session.state() === 'signed-out' && queries.clear()
    return session.subscribe(() => void forget())
  }, [queries])
  return useSyncExternalStore(session.subscribe, session.state)
}
