import { closeUnreleased, entriesOf } from './changelog'

const changelog = `# Changelog

## Unreleased

- A change.

## 0.2.0 (2026-11-26)

- An older one.
`

test('the unreleased entries become those of the version, and nothing is unreleased', () => {
  const closed = closeUnreleased(changelog, '0.3.0', '2026-12-01')
  expect(entriesOf(closed, undefined)).toBe('')
  expect(entriesOf(closed, '0.3.0')).toBe('- A change.')
  expect(entriesOf(closed, '0.2.0')).toBe('- An older one.')
  expect(closed).toContain('## 0.3.0 (2026-12-01)\n')
})

test.each([
  ['nothing is unreleased', changelog.replace('- A change.\n', ''), '0.3.0', /no entries/],
  ['the version is there already', changelog, '0.2.0', /has 0\.2\.0 already/],
])('refuses a release when %s', (_, text, version, reason) => {
  expect(() => closeUnreleased(text, version, '2026-12-01')).toThrow(reason)
})
