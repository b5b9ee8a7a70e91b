import { randomBytes } from 'node:crypto'
import { fundCosmosWallet, startCosmos } from '@tollgate/cosmos-devchain'
import type { PendingPayment, SignedTransaction, Terms } from '../../family'
import { broadcast } from '../settlement/broadcast'
import { encodeSignDoc, signDirect, type GrantTransaction } from '../settlement/feegrant/grant-transaction'
import { prepareGrants } from '../settlement/feegrant/prepare-grants'
import { keySigner } from '../signing/key-signer'
import type { CosmosNetwork } from '../network'
import type { CosmosPayment } from '../transfer-methods/bank-send/payment'
import { type PayerSigned, readPayerSigned } from './payer-signed'
import { createRpc } from '../rpc'
import type { TxResult } from '../rpc-schemas'
import { CHAIN_ID, type Draft, draftOf, payloadOf, signTx, type TestWallet, walletOf } from './transaction'

export const PRICE = 10_000n
export const FEE = 5_000n

/** A development chain of its own, and a granter on it: to mine when told, and to make fees dearer. */
export async function openGaslessWorld() {
  const node = await startCosmos()
  const { rpcUrl } = node
  const granter = walletOf(randomBytes(32))
  const signer = keySigner(Buffer.from(granter.privateKey).toString('hex'), 'cosmos')
  const recipient = walletOf(randomBytes(32)).address
  const nodes = { name: CHAIN_ID, chainId: CHAIN_ID, rpcUrls: [rpcUrl], rpcTimeoutMs: 5_000 }
  const rpc = createRpc(nodes)
  const network: CosmosNetwork = {
    ...nodes,
    ecosystem: 'cosmos',
    confirmations: 1,
    minRemainingValiditySeconds: 6,
    maxGas: 300_000n,
    maxFeesPerDay: 10_000_000n,
    prefix: 'cosmos',
    feeDenom: 'uatom',
    gasPrice: 25n * 10n ** 15n,
    gaslessMaxFee: 10_000n,
    rpc,
    signer: granter.address,
  }
  const terms: Terms = {
    token: { asset: 'uatom', symbol: 'ATOM', decimals: 6 },
    payTo: recipient,
    amount: PRICE,
  }
  const fund = (address: string, amount: bigint) => fundCosmosWallet(rpcUrl, address, `${amount}uatom`)
  await fund(granter.address, 100_000_000n)

  const accountOf = async (address: string) => {
    const account = await rpc.account(address)
    if (account === undefined) throw new Error(`${address} is not on the chain`)
    return account
  }

  async function newPayer(amount = PRICE): Promise<TestWallet> {
    const wallet = walletOf(randomBytes(32))
    await fund(wallet.address, amount)
    return wallet
  }

  /** A payment whose fee the granter is to bear, but for the changes. */
  async function pay(payer: TestWallet, changes: Partial<Draft> = {}): Promise<PayerSigned> {
    const { accountNumber, sequence } = await accountOf(payer.address)
    const fee = {
      amount: [{ denom: 'uatom', amount: `${FEE}` }],
      gas: 200_000n,
      payer: '',
      granter: granter.address,
    }
    const draft = draftOf(payer.address, recipient, { accountNumber, sequence, fee, ...changes })
    return readPayerSigned(payloadOf(payer, draft, signTx(payer, draft)))
  }

  const pending = (payment: CosmosPayment): PendingPayment<CosmosPayment> => ({
    payment,
    terms,
    isAlone: false,
    isBehind: false,
  })

  const nextNonce = async () => (await accountOf(granter.address)).sequence

  /** Prepares what these payments wait for; another network's settings, or a later nonce, where told. */
  const prepare = async (
    payments: readonly CosmosPayment[],
    { nonce, on = network }: { nonce?: bigint; on?: CosmosNetwork } = {},
  ) => prepareGrants(on, signer, payments.map(pending), { nonce: nonce ?? (await nextNonce()) })

  async function signed(...of: Parameters<typeof prepare>) {
    const prepared = await prepare(...of)
    if ('reason' in prepared) throw new Error(prepared.detail)
    return { ...(await signDirect(prepared, signer)), cost: prepared.cost }
  }

  const signOwn = (content: GrantTransaction): Promise<SignedTransaction> =>
    signDirect({ bytes: encodeSignDoc(signer, content) }, signer)

  /** Sends a transaction into a block of its own. */
  async function send(transaction: SignedTransaction): Promise<TxResult> {
    await broadcast(network, transaction)
    const mined = await rpc.tx(transaction.hash)
    if (mined === undefined) throw new Error('The transaction was not mined')
    return mined
  }

  /** Sends messages of the granter's own. */
  const sendOwn = async (messages: GrantTransaction['messages']): Promise<TxResult> => {
    const { accountNumber, sequence } = await accountOf(granter.address)
    const fee = { denom: 'uatom', amount: 10_000n }
    return send(
      await signOwn({
        messages,
        gas: 400_000n,
        fee,
        chainId: CHAIN_ID,
        accountNumber,
        sequence,
      }),
    )
  }

  const ask = async (method: string, ...params: unknown[]): Promise<void> => {
    const response = await fetch(rpcUrl, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    })
    const { error } = (await response.json()) as { error?: unknown }
    if (error !== undefined) throw new Error(`${method}: ${JSON.stringify(error)}`)
  }

  return {
    node,
    /** A block with whatever waits. */
    mine: () => ask('dev_mine', '1'),
    setMinimumGasPrice: (price: string) => ask('dev_setMinimumGasPrice', price),
    network,
    granter,
    signer,
    terms,
    newPayer,
    pay,
    pending,
    nextNonce,
    prepare,
    signed,
    signOwn,
    send,
    sendOwn,
    balance: (address: string) => rpc.balance(address, 'uatom'),
    allowance: ({ address }: TestWallet) => rpc.allowance(granter.address, address),

    /** What the chain says of a transaction that it does not take. */
    async refusal(bytes: Uint8Array): Promise<{ code: number; codespace: string }> {
      const { code, codespace } = await rpc.broadcast(bytes)
      return { code, codespace }
    },

    async close(): Promise<void> {
      rpc.close()
      await node.stop()
    },
  }
}
