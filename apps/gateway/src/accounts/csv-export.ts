import { MAX_CSV_ROWS, MAX_PAGE_ROWS } from '@tollgate/protocol'
import { sendCsv, toCsv, wantsCsv } from '@tollgate/service'
import { type Request, type Response } from 'express'

/** Keeps each step of an export to a few milliseconds. */
const ROWS_PER_STEP = 1_000

type Id = string | number
type Cell = string | number | null
type Range<RowId extends Id> = { limit: number; offset: number; before?: RowId | undefined }
type GetPage<Row, RowId extends Id> = (range: Range<RowId>) => Promise<{ data: readonly Row[] }>

/** An export counts as the pages that it replaces. */
export function pageCost(req: Request): number {
  const rows = Number(req.query.limit)
  return wantsCsv(req) && rows >= 1 && rows <= MAX_CSV_ROWS ? Math.ceil(rows / MAX_PAGE_ROWS) : 1
}

/** Newest first, with a `Link` to the next rows if there are more. */
export async function sendExport<Column extends string, RowId extends Id>(
  req: Request,
  res: Response,
  {
    name,
    columns,
    range,
    getPage,
  }: {
    name: string
    columns: readonly Column[]
    range: Range<RowId>
    getPage: GetPage<Readonly<Record<Column, Cell>> & { id: RowId }, RowId>
  },
): Promise<void> {
  const header = toCsv(columns, [])
  let text = header
  let { offset, before } = range
  let missing = range.limit
  let hasMore = false
  for (let isLast = false; !isLast;) {
    const limit = Math.min(ROWS_PER_STEP, missing + 1)
    const { data } = await getPage({ limit, offset, before })
    const rows = data.slice(0, missing)
    text += toCsv(columns, rows).slice(header.length)
    missing -= rows.length
    offset = 0
    before = rows.at(-1)?.id ?? before
    hasMore = rows.length < data.length
    isLast = rows.length < limit
  }
  const next = hasMore ? { offset: undefined, before: String(before) } : undefined
  await sendCsv(req, res, { name, text, next })
}
