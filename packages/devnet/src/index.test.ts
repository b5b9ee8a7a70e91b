import * as devnet from './index'

test('exports these names and no others', () => {
  expect(Object.keys(devnet).sort()).toEqual([
    'MULTICALL3_ADDRESS',
    'PERMIT2_ADDRESS',
    'SERVICE_NODE_OPTIONS',
    'USDC_ADDRESS',
    'X402_PERMIT2_PROXY_ADDRESS',
    'alterFaultyToken',
    'createProcessGroup',
    'deployContracts',
    'deployFaultyToken',
    'deploySmartWallet',
    'developmentPayTo',
    'developmentSigners',
    'developmentWallets',
    'fundWallet',
    'fundWallets',
    'multicall3Abi',
    'openState',
    'permit2Abi',
    'removePostgres',
    'startAnvil',
    'startDevnet',
    'startPostgres',
    'startRedis',
    'startTestWorld',
    'stopTestWorld',
    'usdcAbi',
  ])
})
