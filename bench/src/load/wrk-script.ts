import { type LoadRequest } from './request'

/** A script for wrk that sends the requests in turn, each formatted once. */
export function wrkScript(requests: readonly LoadRequest[]): string {
  const formatted = requests.map(
    ({ path, headers, body }) =>
      `  wrk.format("POST", ${luaText(path)}, ${luaTable(headers)}, ${luaText(body)}),`,
  )
  return [
    'local requests, turn = {}, 0',
    'init = function()',
    '  requests = {',
    ...formatted,
    '  }',
    'end',
    'request = function()',
    '  turn = turn % #requests + 1',
    '  return requests[turn]',
    'end',
    '',
  ].join('\n')
}

const luaTable = (values: Readonly<Record<string, string>>) =>
  `{ ${Object.entries(values)
    .map(([name, value]) => `[${luaText(name)}] = ${luaText(value)}`)
    .join(', ')} }`

/** Printable ASCII only: Lua and JSON then escape alike. */
const luaText = (text: string) => JSON.stringify(text)
