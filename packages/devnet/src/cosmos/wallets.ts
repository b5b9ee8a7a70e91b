import { HDNodeWallet } from 'ethers'
import { ripemd160, sha256 } from '@cosmjs/crypto'
import { fromHex, toBech32 } from '@cosmjs/encoding'
import { MNEMONIC, type DevelopmentWallet } from '../evm/wallets'

const root = HDNodeWallet.fromPhrase(MNEMONIC, undefined, "m/44'/118'/0'/0")

/** DEVELOPMENT ONLY: ten wallets that pay. */
export const developmentCosmosWallets: readonly DevelopmentWallet[] = Array.from({ length: 10 }, (_, i) =>
  account(i),
)

/** DEVELOPMENT ONLY: the account from which a facilitator grants fees; it holds coins for them. */
export const developmentCosmosSigner: DevelopmentWallet = account(100)

/** DEVELOPMENT ONLY: where payments go; it starts with nothing, so that what it holds is what was paid. */
export const developmentCosmosPayTo: DevelopmentWallet = account(200)

function account(index: number): DevelopmentWallet {
  const { privateKey, publicKey } = root.deriveChild(index)
  const address = toBech32('cosmos', ripemd160(sha256(fromHex(publicKey.slice(2)))))
  return { address, privateKey }
}
