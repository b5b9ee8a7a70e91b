import { ApiError } from '@tollgate/service'

/** The last settlement of a page. Neither its id nor the time of its first claim ever changes. */
export type Position = { claimedAt: Date; id: bigint }

export const toCursor = ({ claimedAt, id }: Position): string =>
  Buffer.from(`${claimedAt.getTime()}.${id}`).toString('base64url')

/** @throws ApiError INVALID_REQUEST */
export function fromCursor(cursor: string): Position {
  const [, time, id] = /^(\d{1,13})\.(\d{1,18})$/.exec(Buffer.from(cursor, 'base64url').toString()) ?? []
  const claimedAt = new Date(Number(time))
  if (id === undefined || Number.isNaN(claimedAt.getTime()))
    throw new ApiError('INVALID_REQUEST', 'cursor: must be `next` of the page before')
  return { claimedAt, id: BigInt(id) }
}
