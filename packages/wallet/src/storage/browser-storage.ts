import { type WalletStorage } from './storage.js'
export const browserStorage = (): WalletStorage => {
  throw new Error('placeholder')
}
