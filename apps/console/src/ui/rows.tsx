import { Button, Center, Text } from '@mantine/core'
import { useVirtualizer } from '@tanstack/react-virtual'
import { memo, type ReactNode, useEffect, useRef } from 'react'
import { shared } from '../texts'
import { readableNumber } from './format'

export type Column<Row> = {
  title: string
  /** A track of CSS grid, such as `8rem` or `minmax(8rem, 1fr)`. */
  width: string
  isRight?: boolean
  /** Its text may take two lines. */
  isWrapped?: boolean
  cell: (row: Row) => ReactNode
}

type Props<Row> = {
  /** What the rows are, for a screen reader. */
  label: string
  rows: readonly Row[]
  keyOf: (row: Row) => string
  columns: readonly Column<Row>[]
  /** Reads the next page; undefined if there is none, or if reading it has failed. */
  more?: (() => void) | undefined
  /** There are further rows, which are not read. */
  isPartial?: boolean
  isReading?: boolean
}

const ROW_PIXELS = 44
const MAX_PIXELS = 620
/** The next page is read when so many rows are left below. */
const READ_AHEAD = 20

/** A table of any length: only the rows in sight are in the document. It scrolls by keyboard, also sideways on a small screen. */
export function Rows<Row>({
  label,
  rows,
  keyOf,
  columns,
  more,
  isPartial = false,
  isReading = false,
}: Props<Row>) {
  const scroller = useRef<HTMLDivElement>(null)
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PIXELS,
    overscan: 12,
  })
  const items = virtual.getVirtualItems()
  const last = items.at(-1)?.index ?? 0
  const isNearEnd =
    more !== undefined && !isReading && last >= rows.length - READ_AHEAD && rows.length > READ_AHEAD
  useEffect(() => {
    if (isNearEnd) more()
  }, [isNearEnd, more])
  const tracks = columns.map(({ width }) => width).join(' ')

  return (
    <div>
      <div
        ref={scroller}
        className="rows"
        role="table"
        aria-label={label}
        aria-rowcount={more || isPartial ? -1 : rows.length + 1}
        tabIndex={0}
        style={{ maxHeight: MAX_PIXELS }}
      >
        <div role="rowgroup" className="rows-head">
          <div role="row" aria-rowindex={1} style={{ gridTemplateColumns: tracks }}>
            {columns.map(({ title, isRight }) => (
              <div key={title} role="columnheader" className={isRight === true ? 'right' : undefined}>
                {title}
              </div>
            ))}
          </div>
        </div>
        <div
          role="rowgroup"
          className="rows-body"
          style={{ height: virtual.getTotalSize(), position: 'relative' }}
        >
          {items.map(({ index, start }) => {
            const row = rows[index]
            if (row === undefined) return null
            return (
              <TableRow
                key={keyOf(row)}
                row={row}
                columns={columns}
                index={index}
                top={start}
                tracks={tracks}
              />
            )
          })}
        </div>
      </div>
      <Center mt="xs" mih={34}>
        {more ? (
          <Button variant="subtle" size="xs" loading={isReading} onClick={more}>
            {shared.loadMore} ({shared.rows(rows.length, readableNumber(rows.length))})
          </Button>
        ) : (
          <Text size="xs" c="dimmed">
            {(isPartial ? shared.rows : shared.allRows)(rows.length, readableNumber(rows.length))}
          </Text>
        )}
      </Center>
    </div>
  )
}

type RowProps<Row> = { row: Row; columns: readonly Column<Row>[]; index: number; top: number; tracks: string }

function PlainRow<Row>({ row, columns, index, top, tracks }: RowProps<Row>) {
  const style = {
    gridTemplateColumns: tracks,
    position: 'absolute',
    top,
    height: ROW_PIXELS,
    width: '100%',
  } as const
  return (
    <div role="row" aria-rowindex={index + 2} style={style}>
      {columns.map(({ title, isRight = false, isWrapped = false, cell }) => (
        <div key={title} role="cell" className={isRight ? 'right' : isWrapped ? 'wrapped' : undefined}>
          {cell(row)}
        </div>
      ))}
    </div>
  )
}

/** Scrolling renders only the rows that come into sight. */
const TableRow = memo(PlainRow) as typeof PlainRow
