import { isAlias, isMap, isScalar, isSeq, Lexer, LineCounter, parseDocument, Parser, visit } from 'yaml'
import { type Document, type Node, type Pair } from 'yaml'
import { type z } from 'zod'

export class CatalogError extends Error {
  override readonly name = 'CatalogError'
}

export const MAX_BYTES = 256 * 1024
/** The parser is recursive: a stack overflow would end the process. */
const MAX_LEVELS = 64
const MAX_PROBLEMS = 50
const MAX_LENGTH = 300

/** `at`: offset into the text. */
type Problem = { at: number; message: string }
type Parsed = Document.Parsed

export function parseYaml<S extends z.ZodType>(schema: S, text: string): z.infer<S> {
  if (Buffer.byteLength(text) > MAX_BYTES) throw tooLarge()
  const lines = new LineCounter()
  const tooDeep = depthProblem(text)
  if (tooDeep) {
    for (const { index } of text.matchAll(/^/gm)) lines.addNewLine(index)
    throw errorOf([tooDeep], lines)
  }
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, logLevel: 'error' })
  const problems = [...document.errors, ...document.warnings].map(({ pos, message }) => ({
    at: pos[0],
    message: message.replace(/^Source contains multiple documents.*/, 'Only one document may be in the file'),
  }))
  // A text with duplicate keys can still be validated; one that is no YAML cannot.
  const isReadable = document.errors.every(({ code }) => code === 'DUPLICATE_KEY')
  if (isReadable && document.contents === null)
    throw errorOf([{ at: 0, message: 'the file is empty' }], lines)
  if (isReadable) {
    const result = schema.safeParse(valueOf(document, lines))
    if (result.success && problems.length === 0) return result.data
    problems.push(...(result.error?.issues ?? []).flatMap((issue) => problemsOf(document, issue)))
  }
  throw errorOf(problems, lines)
}

const tooLarge = () =>
  new CatalogError(`The catalog is larger than ${MAX_BYTES / 1024} KiB; it cannot be one`)

function depthProblem(text: string): Problem | undefined {
  const parser = new Parser()
  for (const lexeme of new Lexer().lex(text)) {
    Array.from(parser.next(lexeme))
    if (parser.stack.length > MAX_LEVELS) return { at: parser.offset, message: 'is nested too deep' }
  }
  return undefined
}

function valueOf(document: Parsed, lines: LineCounter): unknown {
  try {
    return document.toJS()
  } catch (error) {
    // Only aliases that multiply or refer to themselves cannot be resolved.
    let at = 0
    visit(document, {
      Alias(_key, alias) {
        at = offsetIn(alias) ?? 0
        return visit.BREAK
      },
    })
    const message = `has aliases that cannot be followed: ${(error as Error).message}`
    throw errorOf([{ at, message }], lines)
  }
}

function errorOf(problems: readonly Problem[], lines: LineCounter): CatalogError {
  const problemLines = problems
    .toSorted((one, other) => one.at - other.at)
    .map(({ at, message }) => {
      const { line, col } = lines.linePos(at)
      const text = message.length > MAX_LENGTH ? `${message.slice(0, MAX_LENGTH)}…` : message
      return `  line ${Math.max(line, 1)}, column ${Math.max(col, 1)}: ${text}`
    })
  const more = problemLines.length > MAX_PROBLEMS ? [`  and ${problemLines.length - MAX_PROBLEMS} more`] : []
  return new CatalogError(
    `The catalog is not valid:\n${[...problemLines.slice(0, MAX_PROBLEMS), ...more].join('\n')}`,
  )
}

/** One for each unknown key; otherwise one, at the value or, if that is missing, at its parent. */
function problemsOf(document: Parsed, issue: z.core.$ZodIssue): Problem[] {
  const where = issue.path.join('.')
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((key) => ({
      at: offsetOf(document, [...issue.path, key], 'key').at,
      message: `${where === '' ? '' : `${where}.`}${key}: is nothing that can be said here`,
    }))
  const { at, isMissing } = offsetOf(document, issue.path, issue.code === 'invalid_key' ? 'key' : 'value')
  const detail = (issue.code === 'invalid_key' ? issue.issues[0]?.message : undefined) ?? issue.message
  const text = detail.replace(/^Invalid input: /, '').replace(/^Invalid option: /, '')
  const expected = text.replace(/, received undefined$/, '')
  const hint = text === 'expected string, received number' ? '; put it in quotes' : ''
  return [{ at, message: `${where || 'the file'}: ${isMissing ? `is missing, ${expected}` : text + hint}` }]
}

function offsetOf(document: Parsed, path: readonly PropertyKey[], what: 'key' | 'value') {
  let node: unknown = document.contents
  let at = offsetIn(node) ?? 0
  for (const [depth, step] of path.entries()) {
    if (isAlias(node)) node = node.resolve(document)
    const pair = isMap(node) ? node.items.find(({ key }) => nameOf(key) === String(step)) : undefined
    const isLast = depth === path.length - 1
    const next: unknown = isSeq(node) ? node.items[Number(step)] : pair?.value
    const offset = isLast && what === 'key' ? offsetIn(pair?.key) : (offsetIn(next) ?? offsetIn(pair?.key))
    if (offset === undefined) return { at, isMissing: true }
    at = offset
    node = next
  }
  return { at, isMissing: false }
}

const nameOf = (key: Pair['key']) => (isScalar(key) ? String(key.value) : undefined)
const offsetIn = (node: unknown) => (node as Node | null | undefined)?.range?.[0]
