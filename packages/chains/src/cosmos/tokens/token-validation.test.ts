import { openOwnChain, type OwnChain } from '../testing/chain'
import { validateToken } from './token-validation'

let world: OwnChain
beforeAll(async () => {
  world = await openOwnChain()
})
afterAll(() => world.close())

const vet = (asset: string, decimals = 6) => validateToken(world.network, { asset, decimals })
const unfit = (problem: string) => ({
  problem: expect.stringContaining(problem) as string,
  isTokensFault: false,
})

describe('a denomination', () => {
  test('is valid with the metadata of its chain', async () => {
    expect(await vet('uatom')).toEqual({ asset: 'uatom', symbol: 'ATOM', decimals: 6 })
  })

  test('is valid with the requested decimals if the chain has no metadata', async () => {
    const asset = `ibc/${'AB'.repeat(32)}`
    await world.newPayer()
    const { address } = world.signer
    await world.ask('dev_fund', address, `5${asset}`)
    expect(await vet(asset, 18)).toEqual({ asset, symbol: asset, decimals: 18 })
  })

  test('is refused with its own decimals if they differ', async () => {
    expect(await vet('uatom', 18)).toEqual({
      ...unfit("the chain's own metadata says 6; send that"),
      decimals: 6,
    })
  })

  test.each(['', 'u', '1atom', 'u atom', '0x036CbD53842c5426634e7929541eC2318f3dCF7e', 'u'.repeat(129)])(
    'is refused if %j is not a denomination',
    async (asset) => expect(await vet(asset)).toEqual(unfit('is not a denomination')),
  )

  test('is refused if it has no supply or transfers are disabled', async () => {
    expect(await vet('unothing')).toEqual(unfit('There is no unothing on tollgate-devnet-1'))
    await world.ask('dev_fund', world.signer.address, '5ustill')
    expect(await vet('ustill')).toMatchObject({ asset: 'ustill' })
    await world.ask('dev_setSendEnabled', 'ustill', false)
    expect(await vet('ustill')).toEqual(unfit('does not allow transfers of ustill at present'))
  })
})
