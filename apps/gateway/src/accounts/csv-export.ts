import { MAX_CSV_ROWS, MAX_PAGE_ROWS } from '@tollgate/protocol'
import { ApiError, toCsv } from '@tollgate/service'
import { type Request, type Response } from 'express'

/** Keeps each step of an export to a few milliseconds. */
const ROWS_PER_STEP = 1_000

type Id = string | number
type Cell = string | number | null
type Range<RowId extends Id> = { limit: number; offset: number; before?: RowId | undefined }
type GetPage<Row, RowId extends Id> = (range: Range<RowId>) => Promise<{ data: readonly Row[] }>

export const wantsCsv = (req: Request): boolean => req.accepts(['json', 'text/csv']) === 'text/csv'

/** An export counts as the pages that it replaces. */
export function pageCost(req: Request): number {
  const rows = Number(req.query.limit)
  return wantsCsv(req) && rows >= 1 && rows <= MAX_CSV_ROWS ? Math.ceil(rows / MAX_PAGE_ROWS) : 1
}

/** @throws ApiError INVALID_REQUEST */
export function assertPageSize(req: Request, { limit }: { limit: number }): void {
  if (limit > MAX_PAGE_ROWS && !wantsCsv(req))
    throw new ApiError(
      'INVALID_REQUEST',
      `limit: must be at most ${MAX_PAGE_ROWS}, or ${MAX_CSV_ROWS} with Accept: text/csv`,
    )
}

/** Newest first, with a `Link` to the next rows if there are more. */
export async function sendCsv<Column extends string, RowId extends Id>(
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
  for (let isLast = false; !isLast;) {
    const limit = Math.min(ROWS_PER_STEP, missing + 1)
    const { data } = await getPage({ limit, offset, before })
    const rows = data.slice(0, missing)
    text += toCsv(columns, rows).slice(header.length)
    missing -= rows.length
    offset = 0
    before = rows.at(-1)?.id ?? before
    if (rows.length < data.length) res.set('Link', `<${nextTarget(req, before)}>; rel="next"`)
    isLast = rows.length < limit
  }
  res.attachment(`${name}.csv`).type('text/csv').send(text)
}

function nextTarget(req: Request, before: Id | undefined): string {
  const { pathname, searchParams } = new URL(req.originalUrl, 'http://localhost')
  searchParams.delete('offset')
  searchParams.set('before', String(before))
  return `${pathname}?${searchParams.toString()}`
}
