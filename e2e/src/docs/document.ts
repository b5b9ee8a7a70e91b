/** A response in the document: the JSON block, and the status in the line above it. */
export type ShownAnswer = { line: number; status: number; inHeader: boolean; value: unknown }

/** A code block that a reader runs, with the responses that the document shows for it. */
export type Example = {
  /** The line, and the heading above it. */
  line: number
  heading: string
  language: 'bash' | 'ts'
  text: string
  answers: ShownAnswer[]
}

const runnable: Partial<Record<string, Example['language']>> = { bash: 'bash', sh: 'bash', ts: 'ts' }

/**
 * The examples of a Markdown document. A JSON block belongs to the code blocks directly before it, back to
 * the previous JSON block or heading.
 *
 * @throws Error for a block in an unknown language, and for JSON without an example or a status
 */
export function examplesOf(markdown: string): Example[] {
  const examples: Example[] = []
  let group: Example[] = []
  let isAnswered = false
  let heading = ''
  let lead = ''
  const lines = markdown.split('\n')
  for (let at = 0; at < lines.length; at++) {
    const text = lines[at] ?? ''
    const fence = /^\s*(`{3,}|~{3,})(.*)$/.exec(text)
    if (!fence) {
      const title = /^#+ (.*)$/.exec(text)?.[1]
      if (title !== undefined) [heading, group] = [title, []]
      if (text.trim() !== '') lead = text
      continue
    }
    const [, marks = '', language = ''] = fence
    const end = lines.findIndex((line, index) => index > at && line.trim() === marks)
    if (end < 0) throw new Error(`Line ${at + 1}: the block has no end`)
    const line = at + 1
    const body = lines.slice(at + 1, end).join('\n')
    at = end

    const runs = runnable[language.trim()]
    if (runs !== undefined) {
      if (isAnswered) group = []
      isAnswered = false
      const example: Example = { line, heading, language: runs, text: body, answers: [] }
      group.push(example)
      examples.push(example)
    } else if (language.trim() === 'json') {
      if (group.length === 0) throw new Error(`Line ${line}: this answer belongs to no example`)
      const shown = shownAnswer(line, lead, body)
      for (const example of group) example.answers.push(shown)
      isAnswered = true
    } else if (language.trim() !== 'text') {
      throw new Error(`Line ${line}: a block is bash, ts, json or text, and not "${language}"`)
    }
  }
  return examples
}

function shownAnswer(line: number, lead: string, body: string): ShownAnswer {
  const status = /`([1-5]\d\d)`/.exec(lead)?.[1]
  if (status === undefined)
    throw new Error(`Line ${line}: the line above an answer names its status, as \`200\``)
  const value: unknown = JSON.parse(body)
  return { line, status: Number(status), inHeader: lead.includes('X-PAYMENT-RESPONSE'), value }
}
