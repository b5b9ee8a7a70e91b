export { type AnvilOptions, startAnvil } from './evm/anvil'
export { type CoinbaseWallet, createCoinbaseWallet, wrapSignature } from './evm/coinbase-wallet'
export {
  COINBASE_WALLET_FACTORY_ADDRESS,
  deployContracts,
  deploySmartWallet,
  fundWallet,
  fundWallets,
  MULTICALL3_ADDRESS,
  multicall3Abi,
  PERMIT2_ADDRESS,
  permit2Abi,
  send,
  USDC_ADDRESS,
  usdcAbi,
  X402_PERMIT2_PROXY_ADDRESS,
} from './evm/deploy'
export { alterFaultyToken, deployFaultyToken, type TokenFault } from './evm/faulty-token'
export { alterPlainToken, deployPlainToken, mintPlainToken, type PlainTokenTrait } from './evm/plain-token'
export {
  developmentPayTo,
  developmentSigners,
  type DevelopmentWallet,
  developmentWallets,
} from './evm/wallets'
export { type PostgresOptions, startPostgres } from './postgres'
export { removePostgres } from './postgres-home'
export { type RedisOptions, startRedis } from './redis'
export { SERVICE_NODE_OPTIONS } from './services'
export { hexOf, type Signature, startWeb3Signer, type Web3Signer } from './web3signer'
export { startTestWorld, stopTestWorld, type TestWorld } from './test-world'
export { type Overrides, type Apps, type Replica } from './apps'
export { startDevnet } from './devnet'
export { createProcessGroup } from './process-group'
export { openState } from './state'
