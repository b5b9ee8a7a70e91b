import { useSyncExternalStore } from 'react'

type NavigateOptions = { replace?: boolean; state?: unknown }

const read = () => `/${window.location.hash.replace(/^#?\/?/, '')}`

/** `/settlements` of `/settlements?state=failed`. */
const pathOf = (location: string) => location.split('?', 1)[0] ?? '/'
/** `state=failed` of the same. */
const searchOf = (location: string) => location.slice(pathOf(location).length + 1)

function subscribe(listener: () => void) {
  window.addEventListener('hashchange', listener)
  window.addEventListener('popstate', listener)
  return () => {
    window.removeEventListener('hashchange', listener)
    window.removeEventListener('popstate', listener)
  }
}

function navigate(to: string, { replace = false, state = null }: NavigateOptions = {}) {
  const oldURL = window.location.href
  window.history[replace ? 'replaceState' : 'pushState'](state, '', `#/${to.replace(/^\//, '')}`)
  window.dispatchEvent(new HashChangeEvent('hashchange', { oldURL, newURL: window.location.href }))
  if (!replace) window.scrollTo(0, 0)
}

const usePath = (): [string, typeof navigate] => [
  useSyncExternalStore(subscribe, () => pathOf(read())),
  navigate,
]
const useSearch = () => useSyncExternalStore(subscribe, () => searchOf(read()))

/** Path and query are both in the fragment, `#/settlements?payer=0x…`, so the server and its logs see neither. */
export const useFragmentLocation = Object.assign(usePath, {
  hrefs: (href: string) => `#${href}`,
  searchHook: useSearch,
})
