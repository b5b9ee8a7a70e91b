import { type Families } from './network'

/** The canonical spelling in the first chain family that has such addresses; undefined if none has. */
export function canonicalAddress(families: Families, text: string): string | undefined {
  for (const family of Object.values(families)) {
    const address = family.parseAddress(text)
    if (address !== undefined) return address
  }
  return undefined
}
