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

/** Undefined if it is not JSON. */
export function parseParams(text: string): { params: unknown } | undefined {
  try {
    return { params: JSON.parse(text.trim() === '' ? '[]' : text) as unknown }
  } catch {
    return undefined
  }
}
