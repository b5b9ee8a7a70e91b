import { Wallet } from 'ethers'
import { ChainUnavailable } from '../../errors'
import { uintWord } from '../abi'
import { Data } from '../rpc-schemas'
import { balanceCall } from './erc20'
import { overrideBalance } from './balance-override'
import { createRpc } from '../rpc'
import { openTestChain, type TestChain } from '../testing/chain'
import { startAlteringProxy, startNode } from '../../json-rpc/testing/node'

let world: TestChain
let rpcUrl: string
beforeAll(async () => {
  world = await openTestChain()
  rpcUrl = world.settings.rpcUrls[0]!
})
afterAll(() => world.close())

const amount = 4_000_000_028n
const NAMESPACE = '52c63247e1f47db19d5ce0460030c497f067ca4cebf71ba98eeadabe20bace00'

/** A contract that answers, to any question about a holder, `bits` bits of its word in a mapping, from bit `shift` on. */
function tokenCode(mapping: string, { isVyper = false, shift = 0, bits = 256 } = {}): string {
  const [holderAt, mappingAt] = isVyper ? ['6020', '5f'] : ['5f', '6020']
  const mask = uintWord((1n << BigInt(bits)) - 1n)
  const word = `600435${holderAt}527f${mapping}${mappingAt}5260405f2054`
  return `0x${word}60${shift.toString(16).padStart(2, '0')}1c7f${mask}165f5260205ff3`
}

/** Code that reads so many words of storage, for nothing. */
const reading = (words: number): string =>
  Array.from({ length: words }, (_, slot) => `60${slot.toString(16).padStart(2, '0')}5450`).join('')

/** What the holder has once endowed; undefined where no storage is found. */
async function endowed(asset: string, { url = rpcUrl, from = world.signer.address } = {}) {
  const rpc = createRpc({ ...world.settings, rpcUrls: [url] })
  try {
    const holder = Wallet.createRandom().address
    const storage = await overrideBalance(rpc, { asset, holder, amount, from })
    if (storage === undefined) return undefined
    const call = { to: asset, data: balanceCall(holder) }
    const words = Object.values(storage).flatMap(({ stateDiff }) => Object.keys(stateDiff)).length
    return { has: BigInt(await rpc.call(Data, 'eth_call', [call, 'latest', storage])), words }
  } finally {
    rpc.close()
  }
}
const exactly = { has: amount, words: 1 }

type Change = Parameters<typeof startAlteringProxy>[1]
const without =
  (code: number, message: string): Change =>
  ({ method }, reply) =>
    method === 'eth_createAccessList' ? { error: { code, message } } : reply

async function through<T>(change: Change, work: (url: string) => Promise<T>): Promise<T> {
  const node = await startAlteringProxy(rpcUrl, change)
  try {
    return await work(node.url)
  } finally {
    await node.close()
  }
}

const layouts: [string, string][] = [
  ['the first variable', tokenCode(uintWord(0))],
  ['the tenth, as USDC has it', tokenCode(uintWord(9))],
  ['the last that is computed', tokenCode(uintWord(63))],
  ['Vyper’s order', tokenCode(uintWord(5), { isVyper: true })],
  ['OpenZeppelin’s namespace', tokenCode(NAMESPACE)],
  ...Array.from({ length: 22 }, (_, i) => 8 * (i + 1)).map((shift): [string, string] => [
    `64 bits from bit ${shift} on`,
    tokenCode(uintWord(3), { shift, bits: 64 }),
  ]),
]

describe('endow finds the one word of a balance', () => {
  test.each(layouts)('of %s, also on a node without eth_createAccessList', async (_, code) => {
    const asset = await world.place(code)
    const asked = await through(without(-32601, 'no such method'), (url) => endowed(asset, { url }))
    expect(asked).toEqual(exactly)
  })

  test('at its usual places in a word, beside 31 others that are read', async () => {
    const token = tokenCode(uintWord(64), { shift: 160, bits: 64 }).slice(2)
    expect(await endowed(await world.place(`0x${reading(31)}${token}`))).toEqual(exactly)
  })

  const poor = 'failed to apply transaction: insufficient funds for gas * price + value'
  test('without an access list, and for senders without balance', async () => {
    const asset = await world.place(tokenCode(uintWord(9)))
    for (const code of [-32000, -32003, -32602])
      expect(await through(without(code, poor), (url) => endowed(asset, { url }))).toEqual(exactly)
  })

  const unusual = (layout = {}) => world.place(tokenCode(uintWord(64), layout))

  test.each([40, 48, 160, 176])('anywhere else also from bit %s on', async (shift) => {
    expect(await endowed(await unusual({ shift, bits: 64 }))).toEqual(exactly)
  })

  test('anywhere else by what balanceOf reads, though what the recipient reads is left out', async () => {
    const asset = await unusual()
    const change: Change = ({ method, params }, reply) => {
      if (method !== 'eth_createAccessList') return reply
      const { to = '' } = params[0] as { to?: string }
      const { accessList, ...rest } = reply.result as { accessList: { address: string }[] }
      const others = accessList.filter(({ address }) => address.toLowerCase() !== to.toLowerCase())
      return { result: { ...rest, accessList: others } }
    }
    expect(await through(change, (url) => endowed(asset, { url }))).toEqual(exactly)
  })

  test('there also for a signer without ether, and where only the zero address is accepted', async () => {
    const asset = await unusual()
    const refuse =
      (isRefused: (from: string) => boolean): Change =>
      ({ method, params }, reply) =>
        method === 'eth_createAccessList' && isRefused((params[0] as { from: string }).from)
          ? { error: { code: -32000, message: poor } }
          : reply
    const zeroAddress = `0x${'0'.repeat(40)}`
    for (const isRefused of [(from: string) => from !== zeroAddress, (from: string) => from === zeroAddress])
      expect(await through(refuse(isRefused), (url) => endowed(asset, { url }))).toEqual(exactly)
  })
})

describe('where no word is found', () => {
  test('there is none for a node that never tells what is read', async () => {
    const asset = await world.place(tokenCode(uintWord(64)))
    expect(await through(without(-32601, 'no such method'), (url) => endowed(asset, { url }))).toBeUndefined()
  })

  test('it is unknown whether there is one while a node fails to tell', async () => {
    const asset = await world.place(tokenCode(uintWord(64)))
    const asking = through(without(-32000, 'execution aborted (timeout = 5s)'), (url) =>
      endowed(asset, { url }),
    )
    await expect(asking).rejects.toThrow(ChainUnavailable)
  })

  test('however much is read, a bounded number of calls has been made, and few at once', async () => {
    const asset = await world.place(`0x${reading(40)}5f5f5260205ff3`)
    const sizes: number[] = []
    const lengths: number[] = []
    const node = await startNode(async (messages, response, body) => {
      if (messages.some(({ method }) => method === 'eth_call')) sizes.push(messages.length)
      lengths.push(body.length)
      const headers = { 'content-type': 'application/json' }
      response.end(await (await fetch(rpcUrl, { method: 'POST', headers, body })).text())
    })
    expect(await endowed(asset, { url: node.url })).toBeUndefined()
    await node.close()
    // The computed slots at 23 shifts, then 32 words at the usual six, which no one of them holds.
    expect(sizes.reduce((sum, size) => sum + size)).toBe(23 + 32 * 6)
    expect(Math.max(...sizes)).toBe(20)
    expect(Math.max(...lengths)).toBeLessThan(120_000)
  })

  test('a balance that only shows beside other words is not taken', async () => {
    // Shows the word of mapping 3 where that of mapping 4 is set, and nothing else.
    const read = (mapping: number) => `6004355f527f${uintWord(mapping)}60205260405f2054`
    const asset = await world.place(`0x${read(3)}${read(4)}1515025f5260205ff3`)
    expect(await endowed(asset)).toBeUndefined()
  })
})
