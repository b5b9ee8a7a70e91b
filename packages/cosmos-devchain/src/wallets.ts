import { ripemd160, sha256 } from '@cosmjs/crypto'
import { fromHex, toBech32 } from '@cosmjs/encoding'
import { HDNodeWallet } from 'ethers'

/** DEVELOPMENT ONLY. The keys are public: funds sent to them on a public chain are stolen within seconds. */
const MNEMONIC = 'token gate token gate token gate token gate token gate token toss'

const root = HDNodeWallet.fromPhrase(MNEMONIC, undefined, "m/44'/118'/0'/0")

/** DEVELOPMENT ONLY: ten funded wallets. */
export const developmentCosmosWallets = Array.from({ length: 10 }, (_, i) => account(i))

/** DEVELOPMENT ONLY: the account from which a facilitator grants fees; funded. */
export const developmentCosmosSigner = account(100)

/** DEVELOPMENT ONLY: the account that receives payments. It starts empty, so its balance is the sum of the payments. */
export const developmentCosmosPayTo = account(200)

function account(index: number) {
  const { privateKey, publicKey } = root.deriveChild(index)
  const address = toBech32('cosmos', ripemd160(sha256(fromHex(publicKey.slice(2)))))
  return { address, privateKey }
}
