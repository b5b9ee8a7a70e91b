import { type Request, type Response } from 'express'
import { ApiError } from './errors'

export const wantsCsv = (req: Request): boolean => req.accepts(['json', 'text/csv']) === 'text/csv'

/** @throws ApiError INVALID_REQUEST */
export function assertPageSize(req: Request, limit: number, most: { json: number; csv: number }): void {
  if (limit > (wantsCsv(req) ? most.csv : most.json))
    throw new ApiError(
      'INVALID_REQUEST',
      `limit: must be at most ${most.json}, or ${most.csv} with Accept: text/csv`,
    )
}

/** With a `Link` to the next rows: the request's own URL, its query changed by `next`; undefined leaves a name out. */
export function sendCsv(
  req: Request,
  res: Response,
  page: { name: string; text: string; next: Readonly<Record<string, string | undefined>> | undefined },
): void {
  if (page.next) res.set('Link', `<${changedQuery(req, page.next)}>; rel="next"`)
  res.attachment(`${page.name}.csv`).type('text/csv').send(page.text)
}

function changedQuery(req: Request, changes: Readonly<Record<string, string | undefined>>): string {
  const { pathname, searchParams } = new URL(req.originalUrl, 'http://localhost')
  for (const [name, value] of Object.entries(changes))
    if (value === undefined) searchParams.delete(name)
    else searchParams.set(name, value)
  return `${pathname}?${searchParams.toString()}`
}
