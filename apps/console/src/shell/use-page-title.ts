import { useEffect, useRef } from 'react'

/** Sets the title of the window, and moves the focus to the heading, so that a screen reader says which page came. */
export function usePageTitle(title: string) {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    document.title = `${title} · Tollgate`
    heading.current?.focus({ preventScroll: true })
  }, [title])
  return heading
}
