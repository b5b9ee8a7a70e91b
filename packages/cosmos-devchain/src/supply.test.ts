import fc from 'fast-check'
import { allAddresses } from './app/accounts'
import { balancesOf, totalSupply } from './app/bank'
import { add, coinsText } from './app/coins'
import { openNode, type TestNode } from './testing/node'
import { fundedWallet, sendMessage, sequenceOf, signedTx, type Wallet } from './testing/tx'

let node: TestNode
let wallets: Wallet[]
beforeAll(async () => {
  node = await openNode()
  wallets = []
  for (let i = 0; i < 4; i++) wallets.push(await fundedWallet(node, '40000uatom,1000uusdc'))
})
afterAll(() => node.close())

const attempt = fc.record({
  from: fc.nat(3),
  to: fc.nat(3),
  denom: fc.constantFrom('uatom', 'uusdc'),
  amounts: fc.array(fc.integer({ min: -1, max: 50_000 }), { minLength: 1, maxLength: 3 }),
  sequenceOff: fc.constantFrom(0n, 0n, 0n, 1n),
  gasLimit: fc.constantFrom(200_000n, 70_000n),
})

test('whatever is sent, nothing is made or lost: the balances sum up to the supply, and no balance is below nothing', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(attempt, { minLength: 1, maxLength: 6 }), async (attempts) => {
      for (const { from, to, denom, amounts, sequenceOff, gasLimit } of attempts) {
        const [sender, receiver] = [wallets[from]!, wallets[to]!]
        const waiting = node.chain.mempool.pending().length
        const bytes = signedTx(node, sender, {
          messages: amounts.map((amount) =>
            sendMessage(sender.address, receiver.address, String(amount), denom),
          ),
          sequence: (sequenceOf(node, sender.address) ?? 0n) + sequenceOff,
          fee: { gasLimit },
        })
        const taken = isTaken(bytes)
        expect(node.chain.mempool.size()).toBe(taken ? waiting + 1 : waiting)
      }
      node.chain.mine()
      for (const wallet of wallets)
        if (balancesOf(node.chain.store, wallet.address).every(({ amount }) => amount < 10_000n))
          await node.call('dev_fund', wallet.address, '40000uatom,5uusdc')

      const { store } = node.chain
      const held = allAddresses(store).map((address) => balancesOf(store, address))
      expect(coinsText(add(...held))).toBe(coinsText(totalSupply(store)))
      expect(held.flat().every(({ amount }) => amount > 0n)).toBe(true)
    }),
    { numRuns: 40 },
  )
})

/** The mempool throws for a transaction that is already pending. */
function isTaken(bytes: Uint8Array): boolean {
  try {
    return node.chain.mempool.submit(bytes).code === 0
  } catch {
    return false
  }
}
