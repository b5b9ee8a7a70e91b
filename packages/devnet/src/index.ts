export { COSMOS_CHAIN_ID, type CosmosOptions, startCosmos } from './cosmos/cosmos'
export { fundCosmosWallet } from './cosmos/fund'
export { developmentCosmosPayTo, developmentCosmosSigner, developmentCosmosWallets } from './cosmos/wallets'
export { type AnvilOptions, startAnvil } from './evm/anvil'
export {
  deployContracts,
  deploySmartWallet,
  fundWallet,
  fundWallets,
  MULTICALL3_ADDRESS,
  multicall3Abi,
  PERMIT2_ADDRESS,
  permit2Abi,
  USDC_ADDRESS,
  usdcAbi,
  X402_PERMIT2_PROXY_ADDRESS,
} from './evm/deploy'
export { alterFaultyToken, deployFaultyToken, type TokenFault } from './evm/faulty-token'
export {
  developmentPayTo,
  developmentSigners,
  type DevelopmentWallet,
  developmentWallets,
} from './evm/wallets'
export { freePort } from './ports'
export { type PostgresOptions, startPostgres } from './postgres'
export { removePostgres } from './postgres-home'
export { type ProcessExit, type ProcessOptions, type RunningProcess, startProcess } from './process'
export { type RedisOptions, startRedis } from './redis'
export { startTestWorld, stopTestWorld, type TestWorld } from './test-world'
export { type Overrides, type Apps } from './apps'
export { startDevnet } from './devnet'
export { createProcessGroup } from './process-group'
export { openState } from './state'
