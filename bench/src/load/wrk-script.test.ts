import { wrkScript } from './wrk-script'

test('formats each request once, and sends them in turn', () => {
  const headers = { 'Content-Type': 'application/json' }
  const script = wrkScript([
    { path: '/rpc', headers, body: '{"method":"eth_call"}' },
    { path: '/', headers: {}, body: '{}' },
  ])

  expect(script).toContain(
    String.raw`wrk.format("POST", "/rpc", { ["Content-Type"] = "application/json" }, "{\"method\":\"eth_call\"}"),`,
  )
  expect(script).toContain('wrk.format("POST", "/", {  }, "{}"),')
  expect(script).toContain('turn = turn % #requests + 1')
})
