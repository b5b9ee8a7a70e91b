import { type ReactNode, useMemo } from 'react'
import { Failure } from './failure'
import { Loading } from './loading'
import { type Column, Rows } from './rows'

type Pages<Row> = {
  data: { pages: readonly (readonly Row[])[] } | undefined
  isError: boolean
  isFetchNextPageError: boolean
  isFetchingNextPage: boolean
  hasNextPage: boolean
  error: unknown
  refetch: () => unknown
  fetchNextPage: () => unknown
}

type Props<Row> = {
  label: string
  pages: Pages<Row>
  keyOf: (row: Row) => string
  columns: readonly Column<Row>[]
  /** In the place of a list without rows. */
  empty: ReactNode
}

/** The rows of an infinite query: a skeleton, the rows, and a failure with a retry of the page that failed. */
export function PagedRows<Row>({ label, pages, keyOf, columns, empty }: Props<Row>) {
  const { data, isError, isFetchNextPageError, hasNextPage, error, refetch, fetchNextPage } = pages
  const rows = useMemo(() => data?.pages.flat() ?? [], [data])
  const retry = () => void (isFetchNextPageError ? fetchNextPage() : refetch())
  const failure = isError && <Failure error={error} retry={retry} />
  if (data === undefined) return failure || <Loading lines={6} />
  if (rows.length === 0) return failure || empty
  return (
    <>
      <Rows
        label={label}
        rows={rows}
        keyOf={keyOf}
        columns={columns}
        isReading={pages.isFetchingNextPage}
        isPartial={hasNextPage}
        {...(hasNextPage && !isFetchNextPageError ? { more: () => void fetchNextPage() } : {})}
      />
      {failure}
    </>
  )
}
