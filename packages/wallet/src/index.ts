export { type AssetAmount } from './assets/asset-amount.js'
export { knownAssets, type KnownAsset } from './assets/known-assets.js'
export { advice, isTollgateError, TollgateError, type ErrorCode } from './errors.js'
export { type PaymentEvent, type TollgateEvents } from './events.js'
export { type AssetLimit, type Limits, type ProposedPayment, type Units } from './limits.js'
export { browserStorage } from './storage/browser-storage.js'
export { memoryStorage } from './storage/memory-storage.js'
export { type WalletStorage } from './storage/storage.js'
export {
  type AccountRequest,
  type BuyOptions,
  type CallOptions,
  type OpenPayment,
  type Page,
  type PageOptions,
  type Purchase,
  type Tollgate,
  type TollgateOptions,
} from './tollgate.js'
export {
  type AccessKey,
  type CreatedAccessKey,
  type CreditBalance,
  type NewAccessKey,
  type PaymentRecord,
  type Plan,
  type PlanCalls,
  type UsageRecord,
} from './gateway/records.js'
export { createTollgate } from './tollgate.js'
export { type CosmosSigner, type CosmosWalletInput } from './wallets/cosmos/signer.js'
export {
  type Eip1193Input,
  type EthersSignerInput,
  type OfflineSignerInput,
  type ViemAccountInput,
  type WalletInput,
} from './wallets/wallet-input.js'
