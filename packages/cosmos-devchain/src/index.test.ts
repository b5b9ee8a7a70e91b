import * as devchain from './index'

test('exports these names and no others', () => {
  expect(Object.keys(devchain).sort()).toEqual([
    'COSMOS_CHAIN_ID',
    'developmentCosmosPayTo',
    'developmentCosmosSigner',
    'developmentCosmosWallets',
    'fundCosmosWallet',
    'startCosmos',
  ])
})
