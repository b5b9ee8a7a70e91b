import { type z } from 'zod'

/** Bounds the response, which must not grow with the request. */
const MAX_PROBLEMS = 10
const MAX_LENGTH = 200

type Issue = z.core.$ZodIssue

export function problemsOf(error: z.core.$ZodError): { field: string; problem: string }[] {
  return error.issues
    .slice(0, MAX_PROBLEMS)
    .map(innermost)
    .map((issue) => ({ field: cut(fieldOf(issue.path)), problem: cut(wording(issue)) }))
}

/** The issue of the union member that is closest to the input: the union's own issue names no field. */
function innermost(issue: Issue): Issue {
  if (issue.code !== 'invalid_union' || issue.errors.length === 0) return issue
  const nearest = issue.errors
    .flatMap((issues) => issues.slice(0, 1))
    .reduce((best, next) => (next.path.length > best.path.length ? next : best))
  if (nearest.path.length === 0) return issue
  return innermost({ ...nearest, path: [...issue.path, ...nearest.path] })
}

function wording({ message }: Issue) {
  const text = message.replace(/^Invalid input: /, '')
  const missing = /^(expected .*), received undefined$/.exec(text)
  return missing ? `missing, ${missing[1] ?? ''}` : text
}

function fieldOf(path: readonly PropertyKey[]) {
  return path
    .map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`))
    .join('')
    .replace(/^\./, '')
}

const cut = (text: string) => (text.length > MAX_LENGTH ? `${text.slice(0, MAX_LENGTH)}…` : text)
