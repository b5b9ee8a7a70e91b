const UNRELEASED = '## Unreleased'
const HEADING = /^## (?:Unreleased|(\d+\.\d+\.\d+) \((\d{4}-\d{2}-\d{2})\))$/gm

/**
 * Gives the entries under `## Unreleased` of a changelog to `version`, and leaves an empty `## Unreleased` above.
 *
 * @param date `YYYY-MM-DD`
 * @throws if nothing is unreleased, or the version is there already
 */
export function closeUnreleased(changelog: string, version: string, date: string): string {
  if (entriesOf(changelog, undefined) === '')
    throw new Error('CHANGELOG.md has no entries under "## Unreleased": what changed for users?')
  if (entriesOf(changelog, version) !== undefined) throw new Error(`CHANGELOG.md has ${version} already`)
  return changelog.replace(`${UNRELEASED}\n`, () => `${UNRELEASED}\n\n## ${version} (${date})\n`)
}

/** The text under a version's heading (`undefined`: what is unreleased), or `undefined` without that heading. */
export function entriesOf(changelog: string, version: string | undefined): string | undefined {
  const headings = [...changelog.matchAll(HEADING)]
  const index = headings.findIndex(([, found]) => found === version)
  const heading = headings[index]
  if (!heading) return undefined
  return changelog.slice(heading.index + heading[0].length, headings[index + 1]?.index).trim()
}
