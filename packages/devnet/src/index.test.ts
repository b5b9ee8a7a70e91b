import * as devnet from './index'

test('exports what the start, the tests and the story need, and no more', () => {
  expect(Object.keys(devnet).sort()).toEqual([
    'MULTICALL3_ADDRESS',
    'PERMIT2_ADDRESS',
    'USDC_ADDRESS',
    'X402_PERMIT2_PROXY_ADDRESS',
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
    'permit2Abi',
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
