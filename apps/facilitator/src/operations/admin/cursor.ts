import { ApiError } from '@tollgate/service'

/** Where a page ended: the sort key of its last record, as whole numbers. */
export const encodeCursor = (...key: readonly (bigint | number)[]): string =>
  Buffer.from(key.join('.')).toString('base64url')

/** @throws ApiError INVALID_REQUEST unless it is the cursor of a list whose key has `length` numbers */
export function decodeCursor(cursor: string, length: number): bigint[] {
  const parts = Buffer.from(cursor, 'base64url').toString('latin1').split('.')
  if (parts.length === length && parts.every((part) => /^(0|[1-9][0-9]{0,14})$/.test(part)))
    return parts.map(BigInt)
  throw new ApiError(
    'INVALID_REQUEST',
    'cursor: is not the `next` of a page of this list; leave it out to begin with the first page',
  )
}
