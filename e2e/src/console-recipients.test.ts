import { describeInBrowser } from '@tollgate/browser-testing'
import { type HDNodeWallet, Wallet } from 'ethers'
import { type Page } from 'playwright-core'
import { layoutProblems, openConsole, type OpenConsole } from './testing/console-page'
import { type CosmosWallet, newCosmosWallet } from './testing/cosmos-wallet'
import { goTo, merchantPages } from './testing/merchant-pages'
import { settleRequest } from './testing/paying'
import { answerAsWallet } from './testing/wallet-page'
import { startWorld, walletAt, type World } from './testing/world'

/** What the pages use of Keplr. */
const KEPLR = `
window.keplr = {
  enable: async () => undefined,
  getOfflineSigner: () => ({ getAccounts: () => walletRequest('keplr_accounts', []) }),
  signArbitrary: (chainId, address, text) => walletRequest('keplr_sign', [text]),
}
`

describeInBrowser('recipients and snippets in the console of a merchant', () => {
  let world: World
  let browser: OpenConsole
  let wallet: HDNodeWallet
  let cosmos: CosmosWallet

  async function answer(method: string, params: string[]) {
    if (method === 'keplr_accounts') return [{ address: cosmos.address }]
    if (method !== 'keplr_sign') return answerAsWallet(wallet, method, params)
    return { signature: await cosmos.signArbitrary(params[0] ?? ''), pub_key: { value: cosmos.publicKey } }
  }

  beforeAll(async () => {
    world = await startWorld()
    browser = await openConsole(answer)
    await browser.context.addInitScript(KEPLR)
  }, 120_000)
  afterAll(async () => {
    const errors = browser.errors()
    await browser.close()
    await world.stop()
    expect(errors).toEqual([])
  }, 30_000)
  beforeEach(async () => {
    wallet = Wallet.createRandom()
    cosmos = await newCosmosWallet()
  })

  let accounts = 0
  const signUp = () =>
    merchantPages(browser, world.facilitator.url).signUp(`recipients-${++accounts}@example.com`)

  async function openReservation(network: string): Promise<Page> {
    const page = await signUp()
    await goTo(page, 'Recipients')
    await page.getByRole('link', { name: 'Reserve a recipient' }).first().click()
    await page.getByRole('combobox', { name: 'Network' }).click()
    await page.getByRole('option', { name: network }).click()
    return page
  }

  /** Settles a payment to the wallet with a client key of another account. */
  async function settleWithOtherKey(): Promise<unknown> {
    const { clientId, token } = world.clientKey
    const response = await fetch(`${world.facilitator.url}/api/v1/settle`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'X-Client-ID': clientId, 'X-Client-Token': token },
      body: JSON.stringify(await settleRequest(walletAt(5), wallet.address, 20_000n)),
    })
    return response.json()
  }

  test('reserves the address of a wallet against the keys of others, and releases it', async () => {
    const page = await openReservation('base-sepolia')
    await page.getByRole('button', { name: 'Reserve the address of Test wallet' }).click()
    await page.getByRole('table').getByText('by its signature').waitFor()
    await page.getByTitle(wallet.address).waitFor()
    expect(await settleWithOtherKey()).toMatchObject({ errorReason: 'invalid_payment_requirements' })

    await page.getByRole('button', { name: `Release ${wallet.address} on base-sepolia` }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Release' }).click()
    await page.getByText('No recipients reserved yet').waitFor()
    expect(await settleWithOtherKey()).toMatchObject({ success: true })
    await page.close()
  })

  test('reserves the address of Keplr', async () => {
    const page = await openReservation('tollgate-devnet-1')
    await page.getByRole('button', { name: 'Reserve the address of Keplr' }).click()
    await page.getByTitle(cosmos.address).waitFor()
    await page.close()
  })

  test('takes a signature from elsewhere; a wrong one is refused, and the address kept', async () => {
    const page = await openReservation('base-sepolia')
    await page.getByRole('textbox', { name: 'Address', exact: true }).fill(wallet.address)
    await page.getByRole('button', { name: 'Get the text to sign' }).click()
    const text = page.getByRole('region', { name: 'Text to sign, as text' })
    await page.getByLabel('Signature, in hex').fill(await wallet.signMessage('another text'))
    await page.getByRole('button', { name: 'Reserve it' }).click()
    await page.getByRole('alert').getByText('The signature is not one of the address').waitFor()

    const used = await text.textContent()
    await page.getByRole('button', { name: 'Get a new text' }).click()
    await page.getByRole('alert').waitFor({ state: 'hidden' })
    const message = (await text.textContent()) ?? ''
    expect(message).not.toBe(used)
    expect(message).toContain(wallet.address)
    await page.getByLabel('Signature, in hex').fill(await wallet.signMessage(message))
    await page.getByRole('button', { name: 'Reserve it' }).click()
    await page.getByRole('table').getByTitle(wallet.address).waitFor()
    await page.close()
  })

  test('the snippets say which assets they do not take, and refuse a price below the least', async () => {
    const page = await signUp()
    await goTo(page, 'Get paid')
    await page.getByText('No snippet takes ATOM on tollgate-devnet-1').waitFor()
    await page.getByRole('combobox', { name: 'Asset' }).click()
    expect(await page.getByRole('option').allTextContents()).toEqual(['USDC on base-sepolia'])
    await page.keyboard.press('Escape')
    await page.getByLabel('Price in USDC').fill('0')
    await page
      .getByText('An amount above 0 with at most 6 decimals, and nothing between thousands.')
      .waitFor()
    await page.close()
  })

  test.each(['light', 'dark'] as const)(
    'breaks no rule of accessibility, and fits 360 pixels, %s',
    async (scheme) => {
      const page = await openReservation('tollgate-devnet-1')
      await page.emulateMedia({ colorScheme: scheme })
      await page.getByRole('textbox', { name: 'Address', exact: true }).fill(cosmos.address)
      await page.getByRole('button', { name: 'Get the text to sign' }).click()
      await page.getByLabel('Public key, in base64').waitFor()
      const found = await layoutProblems(page, 'reservation')
      await page.getByRole('button', { name: 'Reserve the address of Keplr' }).click()
      await page.getByTitle(cosmos.address).waitFor()
      // The notification fades in.
      await page.getByText('is reserved').waitFor({ state: 'hidden' })
      expect({ ...found, ...(await layoutProblems(page, 'recipients')) }).toEqual({})
      await page.close()
    },
  )
})
