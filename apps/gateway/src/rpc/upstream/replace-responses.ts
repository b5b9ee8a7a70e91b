import { entryTexts, idTextIn } from '../json-rpc-ids'
import { type Answer } from './upstream-exchange'

/**
 * Replaces responses of an answer, by their place, by what `memberOf` returns: a `result` or an `error`, as JSON. The others, and
 * all ids, keep their text to the last digit.
 */
export function replaceResponses(
  answer: Answer,
  text: string,
  memberOf: (index: number) => string | undefined,
): Answer {
  const isBatch = text.trimStart().startsWith('[')
  const responses = entryTexts(text.trimStart()).map((response, index) => {
    const member = memberOf(index)
    return member === undefined ? response : `{"jsonrpc":"2.0","id":${idTextIn(response)},${member}}`
  })
  return withJson(answer, isBatch ? `[${responses.join()}]` : (responses[0] ?? text))
}

/** The answer with another body, in JSON. */
export const withJson = ({ status }: Answer, text: string): Answer => ({
  status: status >= 400 ? 200 : status,
  headers: { 'content-type': 'application/json' },
  body: Buffer.from(text),
  rest: undefined,
})
