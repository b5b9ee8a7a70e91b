import { createCallsInFlight, hasRoom, MAX_IN_FLIGHT, MAX_IN_FLIGHT_PER_WALLET } from './calls-in-flight'

const overloaded = expect.objectContaining({ code: 'OVERLOADED', retryAfterSeconds: 1 }) as Error

/** Each wallet takes as many calls on the chain as it gets, one after the other; returns how many are in flight. */
function fill(
  calls: ReturnType<typeof createCallsInFlight>,
  wallets: number,
  chain: (wallet: number) => string,
) {
  let entered = 0
  for (let before = -1; before !== entered;) {
    before = entered
    for (let wallet = 0; wallet < wallets; wallet++)
      try {
        calls.enter(`wallet ${wallet}`, chain(wallet))
        entered++
      } catch (error) {
        expect(error).toEqual(overloaded)
      }
  }
  return entered
}

test.each([
  ['the first call', { all: 0, ofWallet: 0, ofChain: 0 }, true],
  ['a wallet alone below a quarter', { all: 1_023, ofWallet: 1_023, ofChain: 1_023 }, true],
  ['a wallet alone at a quarter', { all: 1_024, ofWallet: 1_024, ofChain: 1_024 }, false],
  ['a large wallet in a crowd', { all: 2_500, ofWallet: 600, ofChain: 10 }, false],
  ['a small wallet in a crowd', { all: 4_000, ofWallet: 15, ofChain: 10 }, true],
  ['a large wallet on a chain with half of the room', { all: 2_048, ofWallet: 20, ofChain: 2_048 }, false],
  ['a small wallet on a chain with half of the room', { all: 2_048, ofWallet: 15, ofChain: 2_048 }, true],
  ['a small wallet on a chain with three quarters', { all: 3_072, ofWallet: 0, ofChain: 3_072 }, false],
  ['a small wallet on another chain then', { all: 3_072, ofWallet: 0, ofChain: 0 }, true],
  ['the last place', { all: 4_095, ofWallet: 0, ofChain: 0 }, true],
  ['a full room', { all: 4_096, ofWallet: 0, ofChain: 0 }, false],
])('%s: %j has room: %s', (_, usage, expected) => expect(hasRoom(usage)).toBe(expected))

test('a wallet alone may have a quarter, and another call when one leaves', () => {
  const calls = createCallsInFlight()
  expect(fill(calls, 1, () => 'chain')).toBe(MAX_IN_FLIGHT_PER_WALLET)
  calls.leave('wallet 0', 'chain')
  calls.enter('wallet 0', 'chain')
  expect(() => calls.enter('wallet 0', 'chain')).toThrow(overloaded)
})

test.each([4, 100])('%i wallets on one slow chain leave room for others on another', (wallets) => {
  const calls = createCallsInFlight()
  expect(fill(calls, wallets, () => 'slow')).toBeLessThanOrEqual(MAX_IN_FLIGHT / 2)
  for (let wallet = 0; wallet < 500; wallet++) calls.enter(`another ${wallet}`, 'fast')
})

test('any number of wallets on one slow chain leave a quarter of the room to other chains', () => {
  const calls = createCallsInFlight()
  expect(fill(calls, MAX_IN_FLIGHT, () => 'slow')).toBe((3 * MAX_IN_FLIGHT) / 4)
  calls.enter('another', 'fast')
})

test('all together may have MAX_IN_FLIGHT, and no more until one leaves', () => {
  const calls = createCallsInFlight()
  expect(fill(calls, MAX_IN_FLIGHT, (wallet) => `chain ${wallet}`)).toBe(MAX_IN_FLIGHT)
  calls.leave('wallet 7', 'chain 7')
  calls.enter('wallet 7', 'chain 7')
  expect(() => calls.enter('another', 'chain 8')).toThrow(overloaded)
})
