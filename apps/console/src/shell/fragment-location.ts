import { useCallback, useEffect, useRef, useSyncExternalStore } from 'react'

type NavigateOptions = { replace?: boolean; state?: unknown }

const read = () => `/${window.location.hash.replace(/^#?\/?/, '')}`

/** `/settlements` of `/settlements?state=failed`. */
const pathOf = (location: string) => location.split('?', 1)[0] ?? '/'
/** `state=failed` of the same. */
const searchOf = (location: string) => location.slice(pathOf(location).length + 1)

/** What is shown. The address may be ahead of it while the reader is asked. */
let current = read()
const listeners = new Set<() => void>()
/** The questions to ask before another page is shown. */
const guards = new Set<string>()

function show(location: string) {
  current = location
  for (const listener of listeners) listener()
}

/** A change of the query is no other page. */
function mayShow(location: string): boolean {
  const [question] = guards
  return question === undefined || pathOf(location) === pathOf(current) || window.confirm(question)
}

/** By the browser's own controls, which cannot be asked before. */
function moved() {
  const location = read()
  if (location === current) return
  if (mayShow(location)) show(location)
  else window.history.pushState(null, '', `#${current}`)
}

function subscribe(listener: () => void) {
  if (listeners.size === 0) {
    current = read()
    window.addEventListener('hashchange', moved)
    window.addEventListener('popstate', moved)
  }
  listeners.add(listener)
  return () => {
    listeners.delete(listener)
    if (listeners.size > 0) return
    window.removeEventListener('hashchange', moved)
    window.removeEventListener('popstate', moved)
  }
}

function navigate(to: string, { replace = false, state = null }: NavigateOptions = {}) {
  const location = `/${to.replace(/^\//, '')}`
  if (!mayShow(location)) return
  window.history[replace ? 'replaceState' : 'pushState'](state, '', `#${location}`)
  show(location)
  if (!replace) window.scrollTo(0, 0)
}

const usePath = (): [string, typeof navigate] => [
  useSyncExternalStore(subscribe, () => pathOf(current)),
  navigate,
]
const useSearch = () => useSyncExternalStore(subscribe, () => searchOf(current))

/** Path and query are both in the fragment, `#/settlements?payer=0x…`, so the server and its logs see neither. */
export const useFragmentLocation = Object.assign(usePath, {
  hrefs: (href: string) => `#${href}`,
  searchHook: useSearch,
})

const askOfBrowser = (event: BeforeUnloadEvent) => event.preventDefault()

/** Asks before the page is left, as long as the component is shown or until it calls the returned function. */
export function useLeaveGuard(question: string): () => void {
  const release = useRef<() => void>(() => undefined)
  useEffect(() => {
    guards.add(question)
    window.addEventListener('beforeunload', askOfBrowser)
    release.current = () => {
      guards.delete(question)
      window.removeEventListener('beforeunload', askOfBrowser)
    }
    return () => release.current()
  }, [question])
  return useCallback(() => release.current(), [])
}
