import { HDNodeWallet } from 'ethers'

/** DEVELOPMENT ONLY. The keys are public: funds sent to them on a public chain are stolen within seconds. */
const MNEMONIC = 'token gate token gate token gate token gate token gate token toss'

export type DevelopmentWallet = {
  address: string
  privateKey: string
}

const root = HDNodeWallet.fromPhrase(MNEMONIC, undefined, "m/44'/60'/0'/0")

/** DEVELOPMENT ONLY: ten funded wallets. */
export const developmentWallets: readonly DevelopmentWallet[] = derive(0, 10)

/** DEVELOPMENT ONLY: the accounts from which a facilitator settles; funded with ether, without tokens. */
export const developmentSigners: readonly DevelopmentWallet[] = derive(100, 2)

/** DEVELOPMENT ONLY: the account that receives payments. It starts empty, so its balance is the sum of the payments. */
export const developmentPayTo: DevelopmentWallet = account(200)

function derive(first: number, count: number) {
  return Array.from({ length: count }, (_, i) => account(first + i))
}

function account(index: number): DevelopmentWallet {
  const { address, privateKey } = root.deriveChild(index)
  return { address, privateKey }
}
