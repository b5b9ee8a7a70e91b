import { gzipSync } from 'node:zlib'

const MIB = 1_048_576
const envelope = (payload: string) =>
  `{"ecosystem":"evm","chain_id":"84532","resource":"","method":"POST","transport":"rpc","payload":${payload}}`
const call = (params: string) => envelope(`{"jsonrpc":"2.0","id":1,"method":"eth_call","params":[${params}]}`)

function list(element: (index: number) => string, count = Infinity): string {
  const elements: string[] = []
  for (let index = 0, length = 200; index < count; index++) {
    const text = element(index)
    if ((length += text.length + 1) > MIB) break
    elements.push(text)
  }
  return elements.join()
}
const fill = (piece: string) => `"${piece.repeat(Math.floor((MIB - 300) / Buffer.byteLength(piece)))}"`

/** Bodies above the limits, which are refused after a scan, and bodies at the limits. */
export const hostileBodies: Readonly<Record<string, string>> = {
  '349,425 empty objects': envelope(`[${list(() => '{}', 349_000)}]`),
  'a batch of 100,000 calls': envelope(`[${list(() => '{"id":1}', 100_000)}]`),
  'entries at the bound': envelope(
    `[${list((id) => `{"id":${id},"method":"eth_call","params":[${'"0x0",'.repeat(26)}{}]}`, 1_000)}]`,
  ),
  'empty objects at the bound': call(list(() => '{}', 4_080)),
  'empty arrays at the bound': call(list(() => '[]', 32_700)),
  'small objects, one key each': call(list((index) => `{"k${index % 2_000}":[]}`, 4_080)),
  'keys at the bound': call(
    list((index) => `{"k${index % 1_900}":1,"l${index % 50}":2,"m${index % 7}":3,"n":4}`, 4_080),
  ),
  'different keys in one object': call(`{${list((index) => `"key${index}":"${'x'.repeat(490)}"`, 2_000)}}`),
  'long keys beyond ASCII': call(`{${list((index) => `"${'é'.repeat(245)}${index}":1`, 2_000)}}`),
  'escaped keys': call(list((index) => `{"\\u0061${index % 1_000}${'x'.repeat(800)}":1,"b":1}`, 1_000)),
  'strings beyond ASCII': call(list(() => '"ééééééééééééé"', 32_700)),
  'numbers halfway between two doubles': call(
    list((index) => (index < 4_090 ? '9007199254740993.00000000000001' : '-12345678901234'), 32_700),
  ),
  'a number of a million digits': call('7'.repeat(MIB - 300)),
  'escaped letters': call(fill('\\u0041')),
  'escaped quotes, beyond ASCII': call(`"é",${fill('\\"').slice(0, MIB - 300)}`.replace(/\\?"?$/, '"')),
  'one string of hex': call(fill('ab')),
  'one string beyond ASCII': call(fill('é😀')),
  'nothing but spaces': call(' '.repeat(MIB - 300)),
  'sixty levels, again and again': call(list(() => '['.repeat(60) + ']'.repeat(60), 540)),
}

/** 1,145 bytes that expand to 349,425 objects. */
export const compressed = gzipSync(envelope(`[${list(() => '{}', 349_000)}]`), { level: 9 })
export const honestCall = call('')
export const largeCall = call(`"${'x'.repeat(1_000_000)}"`)
