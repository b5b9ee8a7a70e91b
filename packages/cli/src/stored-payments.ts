import { type WalletStorage } from '@tollgate/wallet'

/** A payment that was signed and whose outcome is not known here: it is sent again before another one is signed. */
export type OpenPayment = { url: string; amount: string; asset: string; network: string; signedAt: number }

/** Those of the log that the wallet package keeps in its storage. */
export async function findOpenPayments(storage: WalletStorage, address: string): Promise<OpenPayment[]> {
  const keys = await storage.list(`payments/${address.toLowerCase()}/`)
  const texts = await Promise.all(keys.map((key) => storage.get(key)))
  return texts.flatMap((text) => {
    const payment = JSON.parse(text ?? '{}') as Partial<OpenPayment> & { state?: unknown }
    return payment.state === 'open' ? [payment as OpenPayment] : []
  })
}
