import { type Request, type Response } from 'express'
import { finished } from 'node:stream/promises'
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

export type CsvPage = {
  name: string
  text: string
  /** Undefined on the last page; an undefined member leaves its name out of the query. */
  next: Readonly<Record<string, string | undefined>> | undefined
}

/** A client that reads more slowly holds the text in memory. */
const MAX_SENDING_MS = 30_000

/**
 * With a `Link` to the next rows: the request's own URL, its query changed by `next`. Resolves when the response is handed to the
 * network or its connection is closed, at the latest after `timeoutMs`, which closes it.
 */
export async function sendCsv(
  req: Request,
  res: Response,
  page: CsvPage,
  { timeoutMs = MAX_SENDING_MS } = {},
): Promise<void> {
  if (page.next) res.set('Link', `<${changedQuery(req, page.next)}>; rel="next"`)
  const timeout = setTimeout(() => res.destroy(), timeoutMs)
  res.attachment(`${page.name}.csv`).type('text/csv').send(page.text)
  await finished(res).catch(() => undefined)
  clearTimeout(timeout)
}

function changedQuery(req: Request, changes: Readonly<Record<string, string | undefined>>): string {
  const { pathname, searchParams } = new URL(req.originalUrl, 'http://localhost')
  for (const [name, value] of Object.entries(changes))
    if (value === undefined) searchParams.delete(name)
    else searchParams.set(name, value)
  return `${pathname}?${searchParams.toString()}`
}
