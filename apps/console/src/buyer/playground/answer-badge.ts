import { buyer } from '../../texts'

const texts = buyer.playground

/** What became of a call: JSON-RPC reports an error of the node in an answer of status 200. */
export function answerBadge({ status, text }: { status: number; text: string }): {
  isError: boolean
  text: string
} {
  const code = errorCodeIn(text)
  if (code !== undefined) return { isError: true, text: texts.errorCode(code) }
  return { isError: status >= 400, text: String(status) }
}

function errorCodeIn(text: string): number | undefined {
  try {
    const { error } = JSON.parse(text) as { error?: { code?: unknown } }
    return typeof error?.code === 'number' ? error.code : undefined
  } catch {
    return undefined
  }
}
