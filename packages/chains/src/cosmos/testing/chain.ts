import { randomBytes } from 'node:crypto'
import { fundCosmosWallet, startCosmos } from '@tollgate/cosmos-devchain'
import type { Terms } from '../../family'
import { broadcast } from '../settlement/broadcast'
import { paymentStatus } from '../observation/payment-status'
import { transactionStatus } from '../observation/transaction-status'
import type { CosmosNetwork } from '../network'
import type { CosmosPayment } from '../transfer-methods/bank-send/payment'
import { type PayerSigned, readPayerSigned } from './payer-signed'
import { createRpc } from '../rpc'
import { CHAIN_ID, type Draft, draftOf, payloadOf, signTx, type TestWallet, walletOf } from './transaction'

export type OwnChain = Awaited<ReturnType<typeof openOwnChain>>

/** A development chain of this test's own, whose blocks come when they are asked for. */
export async function openOwnChain() {
  const node = await startCosmos()
  const { rpcUrl } = node
  await node.setPace('stopped')
  const signer = walletOf(randomBytes(32))
  const recipient = walletOf(randomBytes(32)).address
  const open: { close(): void }[] = []

  /** The network, by this node unless others are given. */
  function connect({ urls = [rpcUrl], ...changes }: Partial<CosmosNetwork> & { urls?: string[] } = {}) {
    const nodes = { name: CHAIN_ID, chainId: CHAIN_ID, rpcUrls: urls, rpcTimeoutMs: 5_000 }
    const rpc = createRpc(nodes)
    open.push(rpc)
    const network: CosmosNetwork = {
      ...nodes,
      ecosystem: 'cosmos',
      confirmations: 1,
      minRemainingValiditySeconds: 6,
      maxGas: 300_000n,
      prefix: 'cosmos',
      feeDenom: 'uatom',
      gasPrice: 25n * 10n ** 15n,
      rpc,
      signer: signer.address,
      ...changes,
    }
    return network
  }
  const network = connect()
  const { rpc } = network
  const terms: Terms = {
    token: { asset: 'uatom', symbol: 'ATOM', decimals: 6 },
    payTo: recipient,
    amount: 10_000n,
  }

  async function ask(method: string, ...params: unknown[]): Promise<unknown> {
    const response = await fetch(rpcUrl, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    })
    const { error, result } = (await response.json()) as { error?: unknown; result?: unknown }
    if (error !== undefined) throw new Error(`${method}: ${JSON.stringify(error)}`)
    return result
  }
  /** All that was sent before is in a block after. */
  const mine = (blocks = 1) => ask('dev_mine', String(blocks))
  const fund = (address: string, amount: bigint) => fundCosmosWallet(rpcUrl, address, `${amount}uatom`)

  async function newPayer(amount = 1_000_000n): Promise<TestWallet> {
    const wallet = walletOf(randomBytes(32))
    await fund(wallet.address, amount)
    return wallet
  }

  /** What the wallet would sign to meet the terms, under its next sequence, but for the changes. */
  async function draft(wallet: TestWallet, changes: Partial<Draft> = {}): Promise<Draft> {
    const { accountNumber = 0n, sequence = 0n } = (await rpc.account(wallet.address)) ?? {}
    return draftOf(wallet.address, recipient, { accountNumber, sequence, ...changes })
  }

  async function pay(wallet: TestWallet, changes: Partial<Draft> = {}): Promise<PayerSigned> {
    const drawn = await draft(wallet, changes)
    return readPayerSigned(payloadOf(wallet, drawn, signTx(wallet, drawn)))
  }

  return {
    rpcUrl,
    network,
    connect,
    terms,
    signer,
    ask,
    mine,
    fund,
    newPayer,
    draft,
    pay,
    height: async () => (await rpc.newestBlock()).number,

    /** Sends bytes as a client of the chain would, into the mempool. */
    async offer(bytes: Uint8Array): Promise<void> {
      const { code, log } = await rpc.broadcast(bytes)
      if (code !== 0) throw new Error(`The chain does not take it: ${log}`)
    },

    /** Sends, waits for the block, and tells what became of it. */
    async carryOut({ transaction }: Pick<PayerSigned, 'transaction'>) {
      await broadcast(network, transaction)
      await mine()
      const mined = await transactionStatus(network, transaction.hash)
      if (mined.status !== 'mined') throw new Error('The transaction was not mined')
      return mined
    },

    paymentStatus: (payment: CosmosPayment, on = network, seen = 0n) =>
      paymentStatus(on, payment, terms, seen),

    async close(): Promise<void> {
      for (const one of open) one.close()
      await node.stop()
    },
  }
}
