/** Lists forbidden words and SQL keywords in small letters with their place, and fails if there are any. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

const WORDS = [
  'in vain',
  'anew',
  'be it',
  'borne',
  'comes? to nothing',
  'came to nothing',
  'lies open',
  'is told',
  'lets go',
  'whoever',
  'whomever',
  'nobody',
  'what is left',
  'that which',
  'for it is',
]
const SQL =
  /(?<=[\s'"`(])(insert into|delete from|update \S+ set|select [^'`;]*?\sfrom|left join|order by|on conflict)\s/g
const CODE = /\.(ts|mjs|cjs|js)$/
const TEXT = /\.(ts|mjs|cjs|js|md|prisma|proto|sol|ya?ml|json|sh|example)$|Dockerfile/
/** Applied migrations cannot change, and this file contains the words. */
const SKIPPED = /^(pnpm-lock\.yaml|prisma\/[^/]+\/migrations\/|scripts\/check-words\.mjs$)/

/** The Unix account. */
const ALLOWED = new Set(['packages/devnet/src/postgres-home.ts: nobody'])

const pattern = new RegExp(`\\b(${WORDS.join('|')})\\b`, 'gi')
const files = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
  encoding: 'utf8',
  maxBuffer: 2 ** 26,
})
  .split('\0')
  .filter((file) => TEXT.test(file) && !SKIPPED.test(file))

const found = files.flatMap((file) => {
  const text = read(file)
  return [...text.matchAll(pattern), ...(CODE.test(file) ? text.matchAll(SQL) : [])]
    .filter(([word]) => !ALLOWED.has(`${file}: ${word}`))
    .map(({ 0: word, index }) => `${file}:${text.slice(0, index).split('\n').length}: ${word}`)
})
for (const place of found) console.log(place)
console.log(found.length === 0 ? `${files.length} files use plain words` : `${found.length} words to replace`)
process.exitCode = found.length === 0 ? 0 : 1

/** Deleted files are still listed by git. */
function read(file) {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if (error.code === 'ENOENT') return ''
    throw error
  }
}
