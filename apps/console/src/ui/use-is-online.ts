import { useSyncExternalStore } from 'react'

function watchNetwork(listener: () => void) {
  window.addEventListener('online', listener)
  window.addEventListener('offline', listener)
  return () => {
    window.removeEventListener('online', listener)
    window.removeEventListener('offline', listener)
  }
}

export const useIsOnline = () => useSyncExternalStore(watchNetwork, () => navigator.onLine)
