import { HDNodeWallet } from 'ethers'

/** DEVELOPMENT ONLY. Everybody knows these keys: whatever is sent to them on a public chain is stolen within seconds. */
const MNEMONIC = 'token gate token gate token gate token gate token gate token toss'

export type DevelopmentWallet = {
  address: string
  privateKey: string
}

const root = HDNodeWallet.fromPhrase(MNEMONIC, undefined, "m/44'/60'/0'/0")

/** DEVELOPMENT ONLY: ten wallets that pay. */
export const developmentWallets: readonly DevelopmentWallet[] = derive(0, 10)

/** DEVELOPMENT ONLY: the accounts from which a facilitator settles; they hold ether and no tokens. */
export const developmentSigners: readonly DevelopmentWallet[] = derive(100, 2)

/** DEVELOPMENT ONLY: where payments go; it starts with nothing, so that what it holds is what was paid. */
export const developmentPayTo: DevelopmentWallet = account(200)

function derive(first: number, count: number) {
  return Array.from({ length: count }, (_, i) => account(first + i))
}

function account(index: number): DevelopmentWallet {
  const { address, privateKey } = root.deriveChild(index)
  return { address, privateKey }
}
