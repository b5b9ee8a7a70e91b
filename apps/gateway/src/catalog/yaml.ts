import { isAlias, isMap, isScalar, isSeq, Lexer, LineCounter, parseDocument, Parser, visit } from 'yaml'
import { type Document, type Node, type Pair } from 'yaml'
import { type z } from 'zod'

/** A wrong file, told line by line for whoever wrote it: the message needs no stack. */
export class CatalogProblem extends Error {
  override readonly name = 'CatalogProblem'
}

export const MAX_BYTES = 256 * 1024
/** The parser calls itself for each level, and ends the process when it runs out of stack. */
const MAX_LEVELS = 64
const MAX_PROBLEMS = 50
const MAX_LENGTH = 300

/** Something wrong at an offset into the text. */
type Problem = { at: number; message: string }
type Parsed = Document.Parsed

/**
 * A YAML text as the schema gives it back.
 *
 * @throws CatalogProblem that tells all that is wrong, in the order of the lines
 */
export function readYaml<S extends z.ZodType>(schema: S, text: string): z.infer<S> {
  if (Buffer.byteLength(text) > MAX_BYTES) throw tooLarge()
  const lines = new LineCounter()
  const tooDeep = depthProblem(text)
  if (tooDeep) {
    for (const { index } of text.matchAll(/^/gm)) lines.addNewLine(index)
    throw problemsIn([tooDeep], lines)
  }
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, logLevel: 'error' })
  const problems = [...document.errors, ...document.warnings].map(({ pos, message }) => ({
    at: pos[0],
    message: message.replace(/^Source contains multiple documents.*/, 'Only one document may be in the file'),
  }))
  // Of a text that is no YAML nobody knows what it says; one that says something twice can be read all the same.
  const isReadable = document.errors.every(({ code }) => code === 'DUPLICATE_KEY')
  if (isReadable && document.contents === null)
    throw problemsIn([{ at: 0, message: 'the file is empty' }], lines)
  if (isReadable) {
    const result = schema.safeParse(valueOf(document, lines))
    if (result.success && problems.length === 0) return result.data
    problems.push(...(result.error?.issues ?? []).flatMap((issue) => problemsOf(document, issue)))
  }
  throw problemsIn(problems, lines)
}

const tooLarge = () =>
  new CatalogProblem(`The catalog is larger than ${MAX_BYTES / 1024} KiB; it cannot be one`)

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
    // The one thing that cannot be made a value: aliases that multiply, or that lead into themselves.
    let at = 0
    visit(document, {
      Alias(_key, alias) {
        at = offsetIn(alias) ?? 0
        return visit.BREAK
      },
    })
    const message = `has aliases that cannot be followed: ${(error as Error).message}`
    throw problemsIn([{ at, message }], lines)
  }
}

function problemsIn(problems: readonly Problem[], lines: LineCounter): CatalogProblem {
  const told = problems
    .toSorted((one, other) => one.at - other.at)
    .map(({ at, message }) => {
      const { line, col } = lines.linePos(at)
      const text = message.length > MAX_LENGTH ? `${message.slice(0, MAX_LENGTH)}…` : message
      return `  line ${Math.max(line, 1)}, column ${Math.max(col, 1)}: ${text}`
    })
  const more = told.length > MAX_PROBLEMS ? [`  and ${told.length - MAX_PROBLEMS} more`] : []
  return new CatalogProblem(
    `The catalog is not valid:\n${[...told.slice(0, MAX_PROBLEMS), ...more].join('\n')}`,
  )
}

/** One for each unknown member; else one, at the value, or where that is missing at what it is missing in. */
function problemsOf(document: Parsed, issue: z.core.$ZodIssue): Problem[] {
  const where = issue.path.join('.')
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((key) => ({
      at: offsetOf(document, [...issue.path, key], 'key').at,
      message: `${where === '' ? '' : `${where}.`}${key}: is nothing that can be said here`,
    }))
  const { at, isMissing } = offsetOf(document, issue.path, issue.code === 'invalid_key' ? 'key' : 'value')
  const said = (issue.code === 'invalid_key' ? issue.issues[0]?.message : undefined) ?? issue.message
  const text = said.replace(/^Invalid input: /, '').replace(/^Invalid option: /, '')
  const wanted = text.replace(/, received undefined$/, '')
  const hint = text === 'expected string, received number' ? '; put it in quotes' : ''
  return [{ at, message: `${where || 'the file'}: ${isMissing ? `is missing, ${wanted}` : text + hint}` }]
}

/** Where in the text a path leads, as far as the text follows it. */
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
