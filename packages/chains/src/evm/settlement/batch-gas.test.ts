import { Transaction } from 'ethers'
import { startAlteringProxy } from '../../json-rpc/testing/node'
import { signPayment } from '../testing/authorization'
import { openOwnChain, type OwnChain } from '../testing/chain'

let world: OwnChain
beforeAll(async () => {
  world = await openOwnChain()
})
afterAll(() => world.close())

/** A chain whose node records the methods that it was asked, and fails simulations on request. */
async function watched() {
  const failing = { simulations: false }
  const { url, requests, close } = await startAlteringProxy(world.settings.rpcUrls[0]!, ({ method }, reply) =>
    method === 'eth_call' && failing.simulations ? { error: { code: 3, message: 'out of gas' } } : reply,
  )
  const chain = world.connect({ rpcUrls: [url] })
  async function sign(count: number) {
    const batch = await Promise.all(
      Array.from({ length: count }, async () => world.pending(await signPayment(world.payer, world.terms))),
    )
    requests.length = 0
    const signed = await world.signBatch(batch, chain, { signer: world.signer.address, nonce: 0n })
    const methods = requests.flat().map(({ method }) => method)
    return {
      gasLimit: Transaction.from(signed.raw).gasLimit,
      isEstimated: methods.includes('eth_estimateGas'),
      isSimulated: methods.includes('eth_call'),
    }
  }
  return { sign, failing, close }
}

describe('the gas limit of a batch', () => {
  test('is estimated once, and then simulated', async () => {
    const { sign, close } = await watched()
    const first = await sign(10)
    expect(first).toMatchObject({ isEstimated: true, isSimulated: false })
    const second = await sign(10)
    expect(second).toMatchObject({ isEstimated: false, isSimulated: true })
    expect(Number(second.gasLimit) / Number(first.gasLimit)).toBeCloseTo(1.02, 2)
    await close()
  })

  test('is estimated again if the simulation fails, and for a single payment', async () => {
    const { sign, failing, close } = await watched()
    await sign(10)
    failing.simulations = true
    expect(await sign(10)).toMatchObject({ isEstimated: true, isSimulated: true })
    expect(await sign(1)).toMatchObject({ isEstimated: true, isSimulated: false })
    await close()
  })
})
