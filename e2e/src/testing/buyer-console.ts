import { type Page } from 'playwright-core'
import { openConsole } from './console-page'
import { answerAsWallet } from './wallet-page'

type KeyWallet = Parameters<typeof answerAsWallet>[0] & { address: string }

export async function connectWallet(page: Page): Promise<void> {
  await page.getByRole('banner').getByRole('button', { name: 'Connect a wallet' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Test wallet' }).click()
  await page.getByRole('dialog').waitFor({ state: 'hidden' })
}

export const buyButton = (page: Page) =>
  page.getByRole('button', { name: 'Buy 100 credits of Base Sepolia starter' })

/** The console with a wallet that waits for its user. `url`: of the gateway. */
export async function openBuyerConsole(url: string) {
  let wallet: KeyWallet | undefined
  let isConnected = false
  let answered = Promise.resolve()
  let tellAsked: () => void = () => undefined
  const asked: string[] = []

  const browser = await openConsole(async (method, params) => {
    if (!wallet) throw new Error('There is no wallet')
    asked.push(method)
    if (method === 'eth_accounts') return isConnected ? [wallet.address] : []
    isConnected ||= method === 'eth_requestAccounts'
    const signer = wallet
    if (method === 'eth_signTypedData_v4') {
      tellAsked()
      await answered
    }
    return answerAsWallet(signer, method, params)
  })

  return {
    ...browser,
    signatures: () => asked.filter((method) => method === 'eth_signTypedData_v4').length,
    signIns: () => asked.filter((method) => method === 'personal_sign').length,

    /** The next wallet of this browser, which has not connected. */
    use(next: KeyWallet) {
      wallet = next
      isConnected = false
      asked.length = 0
      answered = Promise.resolve()
    },

    /** The user chooses another account in the wallet. */
    async change(next: KeyWallet) {
      wallet = next
      for (const page of browser.context.pages())
        await page.evaluate("window.dispatchEvent(new Event('test-wallet-changes'))")
    },

    /** The wallet shows a payment, and its user waits with the answer until `release`. */
    hold() {
      let release: () => void = () => undefined
      answered = new Promise((resolve) => (release = resolve))
      const shown = new Promise<void>((resolve) => (tellAsked = resolve))
      return {
        shown,
        release() {
          answered = Promise.resolve()
          release()
        },
      }
    },

    open: (path: string) => browser.openPage(`${url}/console/#/${path}`),

    /** Plans, with the wallet connected. */
    async openPlans() {
      const page = await browser.openPage(`${url}/console/#/plans`)
      await connectWallet(page)
      return page
    },
  }
}
