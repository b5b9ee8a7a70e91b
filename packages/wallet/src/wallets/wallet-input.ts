import { type CosmosSigner, type CosmosWalletInput } from './cosmos/signer.js'

/** The parts of each library's wallets that tell them apart; their parameters are the libraries' own. */

/** A `Signer` of ethers v6, such as `new Wallet(privateKey)`. */
export type EthersSignerInput = {
  getAddress(): Promise<string>
  signMessage(message: string): Promise<string>
  signTypedData(domain: never, types: never, value: never): Promise<string>
}

/** An account of viem that signs by itself, such as `privateKeyToAccount(privateKey)`. */
export type ViemAccountInput = {
  address: string
  type: string
  signMessage(parameters: { message: string }): Promise<string>
  signTypedData(parameters: never): Promise<string>
}

/** An EIP-1193 provider, such as `window.ethereum`, or a wallet client of viem. */
export type Eip1193Input = { request(parameters: never): Promise<unknown> }

type CosmosAccounts = {
  getAccounts(): Promise<readonly { address: string; algo: string; pubkey: Uint8Array }[]>
}

/** An `OfflineSigner` of CosmJS, Keplr or Leap. */
export type OfflineSignerInput =
  | (CosmosAccounts & { signDirect(address: never, doc: never): Promise<unknown> })
  | (CosmosAccounts & { signAmino(address: never, doc: never): Promise<unknown> })

/** A wallet that signs and pays: of ethers, viem, EIP-1193, CosmJS, Keplr or Leap. */
export type WalletInput =
  | EthersSignerInput
  | ViemAccountInput
  | Eip1193Input
  | OfflineSignerInput
  | CosmosSigner
  | CosmosWalletInput
