import { type ReactNode } from 'react'
import { Failure } from './failure'
import { Loading } from './loading'

type Props<T> = {
  query: { data: T | undefined; isError: boolean; error: unknown; refetch: () => unknown }
  lines?: number
  children: (data: T) => ReactNode
}

/** A skeleton until there is data; a failure with a retry. Data that was read before stays, below a later failure. */
export function Loaded<T>({ query, lines, children }: Props<T>) {
  const failure = query.isError && <Failure error={query.error} retry={() => void query.refetch()} />
  if (query.data === undefined) return failure || <Loading {...(lines === undefined ? {} : { lines })} />
  return (
    <>
      {failure}
      {children(query.data)}
    </>
  )
}
