/** What the upstream of every contender answers. */
export const ANSWER = '{"jsonrpc":"2.0","id":1,"result":"0x1"}'
