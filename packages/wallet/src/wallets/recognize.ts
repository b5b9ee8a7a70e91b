import { TollgateError } from '../errors.js'
import { cosmosWallet } from './cosmos/cosmos-wallet.js'
import { recognizeEvm } from './evm/recognize.js'
import { type Wallet, type WalletFamily } from './wallet.js'

const families: WalletFamily[] = [recognizeEvm, cosmosWallet]

/** @throws TollgateError WALLET_UNSUPPORTED */
export function recognize(input: unknown): Wallet {
  for (const family of families) {
    const wallet = family(input)
    if (wallet) return wallet
  }
  throw new TollgateError(
    'WALLET_UNSUPPORTED',
    'wallet is none of: an ethers v6 Signer, a viem account or wallet client, an EIP-1193 provider, a CosmJS OfflineSigner',
  )
}
