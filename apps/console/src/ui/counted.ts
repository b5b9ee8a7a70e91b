/** `count` is a number, or its text as the reader sees it. */
export const nounFor = (count: number | string, one: string, many: string): string =>
  String(count) === '1' ? one : many

/** `1 call`, `2 calls` */
export const counted = (count: number | string, one: string, many: string): string =>
  `${count} ${nounFor(count, one, many)}`
