import { createCallsInFlight, MAX_IN_FLIGHT, MAX_IN_FLIGHT_PER_WALLET } from './calls-in-flight'

const overloaded = expect.objectContaining({ code: 'OVERLOADED', retryAfterSeconds: 1 }) as Error

function entered(wallets: number, each: number) {
  const calls = createCallsInFlight()
  for (let wallet = 0; wallet < wallets; wallet++)
    for (let call = 0; call < each; call++) calls.enter(`wallet ${wallet}`)
  return calls
}

test('a wallet may have its share of calls in flight, and no more until one leaves', () => {
  const calls = entered(1, MAX_IN_FLIGHT_PER_WALLET)
  expect(() => calls.enter('wallet 0')).toThrow(overloaded)
  calls.enter('another')
  calls.leave('wallet 0')
  calls.enter('wallet 0')
  expect(() => calls.enter('wallet 0')).toThrow(overloaded)
})

test('all wallets together may have MAX_IN_FLIGHT, and no more until one leaves', () => {
  const calls = entered(MAX_IN_FLIGHT, 1)
  expect(() => calls.enter('another')).toThrow(overloaded)
  calls.leave('wallet 7')
  calls.enter('another')
  expect(() => calls.enter('wallet 7')).toThrow(overloaded)
})
