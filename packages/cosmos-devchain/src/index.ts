export { fundCosmosWallet } from './fund'
export { COSMOS_CHAIN_ID, type CosmosOptions, startCosmos } from './start-cosmos'
export { developmentCosmosPayTo, developmentCosmosSigner, developmentCosmosWallets } from './wallets'
