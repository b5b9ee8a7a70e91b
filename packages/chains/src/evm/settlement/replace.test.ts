import { toQuantity, Transaction } from 'ethers'
import { signPayment } from '../testing/authorization'
import { openOwnChain, type OwnChain } from '../testing/chain'

const gwei = 1_000_000_000n

let world: OwnChain
beforeAll(async () => {
  world = await openOwnChain()
})
afterAll(() => world.close())
beforeEach(() => world.setPace('stopped'))
afterEach(() => world.setPace('at-once'))

const overdue = () => ({ signer: world.signer.address, isOverdue: true })
const inTime = () => ({ signer: world.signer.address, isOverdue: false })

/** A settlement that waits, and nothing mines. */
async function waiting() {
  const payment = await signPayment(world.payer, world.terms)
  const transaction = await world.sign(payment)
  await world.chain.node.broadcast(transaction)
  return { payment, transaction }
}

describe('replace', () => {
  test('signs the same under fees that the network takes instead, and that one is mined', async () => {
    const { payment, transaction } = await waiting()
    const replacement = await world.chain.signer.replace(transaction, overdue())
    const [old, fresh] = [Transaction.from(transaction.raw), Transaction.from(replacement!.raw)]
    expect(fresh.hash).toBe(replacement!.hash)
    expect(fresh.hash).not.toBe(old.hash)
    const chainState = ({ type, chainId, from, to, data, nonce, gasLimit, value }: Transaction) => [
      ...[type, chainId, from, to, data, nonce, gasLimit, value],
    ]
    expect(chainState(fresh)).toEqual(chainState(old))
    expect(replacement!.cost).toBe(fresh.gasLimit * fresh.maxFeePerGas!)
    for (const fee of ['maxFeePerGas', 'maxPriorityFeePerGas'] as const)
      expect(8n * fresh[fee]!).toBeGreaterThanOrEqual(9n * old[fee]!)

    const mined = await world.carryOut(replacement!)
    expect(mined.settles(payment, world.terms)).toBe(true)
    expect(await world.chain.node.transactionStatus(transaction.hash)).toEqual({ status: 'unknown' })
  })

  test('again and again raises again and again', async () => {
    const { transaction } = await waiting()
    let newest = transaction
    for (let i = 0; i < 4; i++) {
      const replacement = await world.chain.signer.replace(newest, overdue())
      await world.chain.node.broadcast(replacement!)
      newest = replacement!
    }
    expect(await world.carryOut(newest)).toMatchObject({ succeeded: true })
  })

  test('stops where higher fees would only cost more, however often it is asked, far below the cap', async () => {
    const { transaction } = await waiting()
    const chain = world.connect({ maxFeePerGas: 1_000_000n * gwei })
    let newest = transaction
    for (let i = 0; i < 40; i++) newest = (await chain.signer.replace(newest, overdue())) ?? newest
    expect(await chain.signer.replace(newest, overdue())).toBeUndefined()
    const block = await world.provider.getBlock('latest')
    const usual = block!.baseFeePerGas! + Transaction.from(transaction.raw).maxPriorityFeePerGas!
    expect(Transaction.from(newest.raw).maxPriorityFeePerGas).toBeLessThanOrEqual(5n * usual)
    await world.mine()
  })

  test('leaves alone what the next block can take, unless it is overdue', async () => {
    const { transaction } = await waiting()
    expect(await world.chain.signer.replace(transaction, inTime())).toBeUndefined()
    expect(await world.chain.signer.replace(transaction, overdue())).toBeDefined()
    await world.mine()
  })

  test('offers what the network asks for once that is more than was offered', async () => {
    const { payment, transaction } = await waiting()
    const { maxFeePerGas } = Transaction.from(transaction.raw)
    // A block of the dearer price takes nothing that waits; this node even forgets it.
    await world.provider.send('anvil_setNextBlockBaseFeePerGas', [toQuantity(2n * maxFeePerGas!)])
    await world.mine()
    expect((await world.chain.node.transactionStatus(transaction.hash)).status).not.toBe('mined')

    const replacement = await world.chain.signer.replace(transaction, inTime())
    const fresh = Transaction.from(replacement!.raw)
    const block = await world.provider.getBlock('latest')
    expect(fresh.maxFeePerGas).toBeGreaterThanOrEqual(block!.baseFeePerGas! + fresh.maxPriorityFeePerGas!)
    const mined = await world.carryOut(replacement!)
    expect(mined.settles(payment, world.terms)).toBe(true)
  })

  test('stops at the cap', async () => {
    const { transaction } = await waiting()
    const { maxFeePerGas } = Transaction.from(transaction.raw)
    const replaceUnder = (cap: bigint) =>
      world.connect({ maxFeePerGas: cap }).signer.replace(transaction, overdue())
    expect(await replaceUnder(maxFeePerGas! + 1n)).toBeUndefined()
    expect(await replaceUnder(1n)).toBeUndefined()
    const cap = maxFeePerGas! + maxFeePerGas! / 8n + 1n
    const replacement = await replaceUnder(cap)
    expect(Transaction.from(replacement!.raw).maxFeePerGas).toBeLessThanOrEqual(cap)
    await world.mine()
  })

  test('touches nothing that is not the signer’s own', async () => {
    const raw = await world.payer.signTransaction({
      type: 2,
      chainId: 84532,
      nonce: 0,
      to: world.terms.payTo,
      gasLimit: 21_000,
      maxFeePerGas: gwei,
      maxPriorityFeePerGas: gwei,
    })
    const foreign = { raw, hash: Transaction.from(raw).hash! }
    await expect(world.chain.signer.replace(foreign, overdue())).rejects.toThrow('none that')
    await expect(
      world.chain.signer.replace(foreign, { signer: world.payer.address, isOverdue: true }),
    ).rejects.toThrow('is no signer')
  })
})
