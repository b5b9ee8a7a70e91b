import { usdcAbi } from '@tollgate/devnet'
import { Interface, type TransactionRequest, type Wallet } from 'ethers'
import type { Terms } from '../../family'
import { readPayment } from '../transfer-methods/payment'
import type { RawTransfer } from '../transfer-methods/raw-transfer/payment'
import { usdc } from './authorization'

const erc20 = new Interface(usdcAbi)
export const transferData = ({ payTo, amount }: Pick<Terms, 'payTo' | 'amount'>): string =>
  erc20.encodeFunctionData('transfer', [payTo, amount])

/** The transaction by which `wallet` would meet these terms, unless `changes` say otherwise; it asks no chain. */
export const transferFor = (
  terms: Pick<Terms, 'payTo' | 'amount'>,
  changes: TransactionRequest = {},
): TransactionRequest => ({
  type: 2,
  chainId: 84532,
  nonce: 0,
  to: usdc.asset,
  data: transferData(terms),
  gasLimit: 100_000,
  maxFeePerGas: 20_000_000_000n,
  maxPriorityFeePerGas: 2_000_000_000n,
  ...changes,
})

export function rawPayment(rawTx: string): RawTransfer {
  const read = readPayment(rawTx)
  if (read?.kind !== 'rawTransfer') throw new Error('The transaction cannot be read')
  return read
}

/** What a wallet signs for these terms, as its next transaction. */
export async function signTransfer(
  wallet: Wallet,
  terms: Pick<Terms, 'payTo' | 'amount'>,
  changes: TransactionRequest = {},
): Promise<RawTransfer> {
  const nonce = changes.nonce ?? (await wallet.getNonce('pending'))
  return rawPayment(await wallet.signTransaction(transferFor(terms, { ...changes, nonce })))
}
