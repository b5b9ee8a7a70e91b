type Extension = '.value' | '.lock'

/** Lower case only, because file names that differ in case are the same on some systems. */
export const encodeKey = (key: string, extension: Extension) =>
  key.replace(/[^a-z0-9._-]/gu, (character) =>
    [...Buffer.from(character)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join(''),
  ) + extension

/** Undefined if `encodeKey` does not give this name, as for a file that an editor left. */
export function decodeKey(fileName: string, extension: Extension): string | undefined {
  try {
    const key = decodeURIComponent(fileName.slice(0, -extension.length))
    return encodeKey(key, extension) === fileName ? key : undefined
  } catch {
    return undefined
  }
}
