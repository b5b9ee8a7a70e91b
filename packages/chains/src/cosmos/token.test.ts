import { openOwnChain, type OwnChain } from './testing/chain'
import { vetToken } from './token'

let world: OwnChain
beforeAll(async () => {
  world = await openOwnChain()
})
afterAll(() => world.close())

const vet = (asset: string, decimals = 6) => vetToken(world.network, { asset, decimals })
const unfit = (problem: string) => ({
  problem: expect.stringContaining(problem) as string,
  isTokensFault: false,
})

describe('a denomination', () => {
  test('is fit as its chain describes it', async () => {
    expect(await vet('uatom')).toEqual({ asset: 'uatom', symbol: 'ATOM', decimals: 6 })
  })

  test('is fit as it is wanted where the chain has no metadata of it', async () => {
    const asset = `ibc/${'AB'.repeat(32)}`
    await world.newPayer()
    const { address } = world.signer
    await world.ask('dev_fund', address, `5${asset}`)
    expect(await vet(asset, 18)).toEqual({ asset, symbol: asset, decimals: 18 })
  })

  test('is unfit where its decimals are others, and those are told', async () => {
    expect(await vet('uatom', 18)).toEqual({
      ...unfit("the chain's own metadata says 6; send that"),
      decimals: 6,
    })
  })

  test.each(['', 'u', '1atom', 'u atom', '0x036CbD53842c5426634e7929541eC2318f3dCF7e', 'u'.repeat(129)])(
    'is unfit where %j is none',
    async (asset) => expect(await vet(asset)).toEqual(unfit('is no denomination')),
  )

  test('is unfit where there is none of it, or it is not sent', async () => {
    expect(await vet('unothing')).toEqual(unfit('There is no unothing on tollgate-devnet-1'))
    await world.ask('dev_fund', world.signer.address, '5ustill')
    expect(await vet('ustill')).toMatchObject({ asset: 'ustill' })
    await world.ask('dev_setSendEnabled', 'ustill', false)
    expect(await vet('ustill')).toEqual(unfit('does not let ustill be sent at present'))
  })
})
