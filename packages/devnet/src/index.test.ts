import * as devnet from './index'

test('exports what the start, the tests and the story need, and no more', () => {
  expect(Object.keys(devnet).sort()).toEqual([
    'MULTICALL3_ADDRESS',
    'USDC_ADDRESS',
    'alterFaultyToken',
    'createParts',
    'deployContracts',
    'deployFaultyToken',
    'deploySmartWallet',
    'developmentPayTo',
    'developmentSigners',
    'developmentWallets',
    'freePort',
    'fundWallet',
    'fundWallets',
    'multicall3Abi',
    'openState',
    'removePostgres',
    'startAnvil',
    'startDevnet',
    'startPostgres',
    'startProcess',
    'startRedis',
    'startTestWorld',
    'stopTestWorld',
    'usdcAbi',
  ])
})
