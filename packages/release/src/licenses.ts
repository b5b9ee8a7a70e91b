import satisfies from 'spdx-satisfies'
import { type InstalledPackage } from './installed-packages'

/** What we distribute may only contain these (SPDX identifiers): they let anyone use, change and sell it. */
const ALLOWED = [
  '0BSD',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'CC0-1.0',
  'ISC',
  'MIT',
  'MIT-0',
  'Python-2.0',
  'Unlicense',
  'Zlib',
]

/** A sentence for each package whose license is not among those allowed, or not an SPDX expression. */
export const refusedLicenses = (packages: readonly InstalledPackage[]): string[] =>
  packages
    .filter(({ license }) => !isAllowed(license))
    .map(({ name, version, license }) => `${name}@${version}: license "${license}" is not allowed`)

function isAllowed(license: string): boolean {
  try {
    return satisfies(license, ALLOWED)
  } catch {
    return false
  }
}
