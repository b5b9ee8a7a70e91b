export type Example = { method: string; params: unknown }

/** Calls that any node of the ecosystem answers. */
export function examplesOf(ecosystem: string, address: string): Example[] {
  if (ecosystem === 'evm') {
    const account = address.startsWith('0x') ? address : '0x0000000000000000000000000000000000000000'
    return [
      { method: 'eth_blockNumber', params: [] },
      { method: 'eth_gasPrice', params: [] },
      { method: 'eth_getBalance', params: [account, 'latest'] },
      { method: 'eth_getBlockByNumber', params: ['latest', false] },
      { method: 'eth_chainId', params: [] },
    ]
  }
  return [
    { method: 'status', params: {} },
    { method: 'abci_info', params: {} },
    { method: 'block', params: {} },
    { method: 'health', params: {} },
  ]
}

/** The same call on the command line, with an access key in the URL. */
export const curlOf = (url: string, chain: string, body: string) =>
  `curl ${url}/v1/${chain}/tgk_YOUR_KEY \\\n  -H 'content-type: application/json' \\\n  -d '${body.replaceAll("'", String.raw`'\''`)}'`

/** A JSON-RPC call with the parameters as they are typed: a number keeps all its digits. Undefined if they are not JSON. */
export function bodyOf(method: string, params: string): string | undefined {
  const typed = params.trim() === '' ? '[]' : params.trim()
  if (!isJson(typed)) return undefined
  return `{"jsonrpc":"2.0","id":1,"method":${JSON.stringify(method)},"params":${typed}}`
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** JSON with a line for each member, and each number and text as it came. What is not JSON is unchanged. */
export function indented(text: string): string {
  if (!isJson(text)) return text
  const tokens = text.match(TOKENS) ?? []
  let depth = 0
  const line = () => `\n${'  '.repeat(depth)}`
  return tokens
    .map((token, at) => {
      const [before, after] = [tokens[at - 1] ?? '', tokens[at + 1] ?? '']
      if (token === ',') return `,${line()}`
      if (token === ':') return ': '
      if (OPENING.test(token)) {
        if (CLOSING.test(after)) return token
        depth += 1
        return token + line()
      }
      if (!CLOSING.test(token) || OPENING.test(before)) return token
      depth -= 1
      return line() + token
    })
    .join('')
}

/** Texts, brackets and separators, and the rest: numbers and names. */
const TOKENS = /"(?:[^"\\]|\\.)*"|[[\]{},:]|[^\s"[\]{},:]+/g
const OPENING = /^[[{]$/
const CLOSING = /^[\]}]$/
