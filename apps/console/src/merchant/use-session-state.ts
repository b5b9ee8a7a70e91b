import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useSyncExternalStore } from 'react'
import { session } from './api'

/** What was read for a user is forgotten when the user signs out. */
export function useSessionState() {
  const queries = useQueryClient()
  const state = useSyncExternalStore(session.subscribe, session.state)
  useEffect(() => {
    if (state === 'signed-out') queries.clear()
  }, [state, queries])
  return state
}
