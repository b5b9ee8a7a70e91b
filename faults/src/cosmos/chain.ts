import { decodeTxRaw, Registry } from '@cosmjs/proto-signing'
import { defaultRegistryTypes, StargateClient } from '@cosmjs/stargate'
import { developmentCosmosSigner, fundCosmosWallet } from '@tollgate/cosmos-devchain'
import { type Apps } from '@tollgate/devnet'
import { decodeJson, type SettleRequest } from '@tollgate/protocol'
import { COSMOS_FEE, newCosmosWallet, type CosmosWallet } from '@tollgate/e2e/testing/cosmos-wallet'
import { queryNode } from '@tollgate/e2e/testing/query-node'
import { type MinedTransaction, type Payment, type PayingChain, type Terms } from '../paying-chain'
import { createPaymentVariants, type PaymentVariant } from './payment-variants'

export type Cosmos = Awaited<ReturnType<typeof openCosmos>>

type Chain = Pick<Apps['infrastructure']['cosmos'], 'rpcUrl' | 'chainId' | 'setPace'>

type Message = {
  fromAddress?: string
  toAddress?: string
  amount?: Coin[]
  granter?: string
  grantee?: string
  allowance?: unknown
}
type Coin = { denom: string; amount: string }

const DENOM = 'uatom'
const ALLOWANCES = '/cosmos.feegrant.v1beta1.Query/AllowancesByGranter'
const registry = new Registry(defaultRegistryTypes)

/**
 * The Cosmos development chain, with payments in its native coin. A payer can have one payment in flight, so
 * each payment has a new payer; a sponsored payer has only the price.
 */
export async function openCosmos({ rpcUrl, chainId, setPace }: Chain) {
  const client = await StargateClient.connect(rpcUrl)
  const granter = developmentCosmosSigner.address
  const rpc = (method: string, ...params: unknown[]) => queryNode(rpcUrl, method, params)
  const fundsOf = async (address: string) => BigInt((await client.getBalance(address, DENOM)).amount)
  const fundsAtFirst = await fundsOf(granter)
  const nextVariant = createPaymentVariants()

  async function newPayment(terms: Terms, { isSponsored, mode }: PaymentVariant): Promise<Payment> {
    const wallet = await newCosmosWallet()
    await fundCosmosWallet(
      rpcUrl,
      wallet.address,
      `${terms.amount + (isSponsored ? 0n : COSMOS_FEE)}${DENOM}`,
    )
    const options = isSponsored ? { granter, mode } : { mode }
    const { payload, sequence } = await wallet.pay(client, { ...terms, denom: DENOM }, options)
    return { id: idOf(wallet.address, sequence), request: requestFor(payload, terms), isSponsored }
  }

  function requestFor(payload: string, { payTo, amount }: Terms): SettleRequest {
    const method = { scheme: 'exact', network: chainId }
    const paymentRequirements = {
      ...method,
      maxAmountRequired: amount.toString(),
      resource: 'https://shop.example/report',
      description: '',
      mimeType: '',
      payTo,
      maxTimeoutSeconds: 60,
      asset: DENOM,
    }
    return { x402Version: 1, paymentPayload: { x402Version: 1, ...method, payload }, paymentRequirements }
  }

  const payingChain: PayingChain = {
    network: `cosmos:${chainId}`,
    signers: [granter],
    async newPayments(count, terms) {
      const payments: Payment[] = []
      while (payments.length < count) payments.push(await newPayment(terms, nextVariant()))
      return payments
    },
    newRecipient: async () => (await newCosmosWallet()).address,
    async paidTo(recipient) {
      const found = await client.searchTx([{ key: 'transfer.recipient', value: recipient }])
      return found
        .filter(({ code }) => code === 0)
        .flatMap(({ hash, tx }) => {
          const { messages, sequence } = read(tx)
          return messages
            .filter(({ toAddress }) => toAddress === recipient)
            .map(({ fromAddress = '', amount = [] }) => ({
              id: idOf(fromAddress, sequence),
              transaction: hash,
              value: BigInt(amount.find(({ denom }) => denom === DENOM)?.amount ?? 0),
            }))
        })
    },
    transactionsOf: async (address) => BigInt((await client.getSequence(address)).sequence),
    async mined(transaction): Promise<MinedTransaction | undefined> {
      const found = await client.getTx(transaction)
      if (found === null) return undefined
      const [message] = read(found.tx).messages
      const signer = message?.fromAddress ?? message?.granter ?? ''
      return { signer, block: BigInt(found.height), gas: found.gasUsed }
    },
    async feeProblems({ transactions, charges, settlements }) {
      const spent = fundsAtFirst - (await fundsOf(granter))
      const problems: string[] = []
      if ([transactions, charges, settlements].some((sum) => sum !== spent))
        problems.push(
          `the chain has charged ${spent} for fees; the database has ${transactions} of transactions, ${charges} of charges, ${settlements} of settlements`,
        )
      if (await allowsSomething()) problems.push('an unused allowance remains')
      const wrong = [...(await grantsLessUses())].filter(([, difference]) => difference !== 0)
      if (wrong.length > 0)
        problems.push(
          `${wrong.length} × a payer that was not granted one allowance for each payment: ${wrong.join(' ')}`,
        )
      return problems
    },
    mine: () => rpc('dev_mine', '1'),
    setPace,
    close: () => client.disconnect(),
  }

  async function grantsLessUses(): Promise<Map<string, number>> {
    const differences = new Map<string, number>()
    const add = (payer: string, by: number) => differences.set(payer, (differences.get(payer) ?? 0) + by)
    for (const { code, tx } of await client.searchTx([{ key: 'tx.fee_payer', value: granter }]))
      for (const { fromAddress, grantee, allowance } of read(tx).messages)
        if (fromAddress !== undefined) add(fromAddress, -1)
        else if (code === 0 && grantee !== undefined && allowance !== undefined) add(grantee, 1)
    return differences
  }

  async function allowsSomething(): Promise<boolean> {
    // The request has one field, number 1: the granter.
    const request = Buffer.concat([Uint8Array.of(0x0a, granter.length), Buffer.from(granter)])
    const answer = (await rpc('abci_query', ALLOWANCES, request.toString('hex'), '0', false)) as {
      response: { code: number; value: string | null }
    }
    const { code, value } = answer.response
    if (code !== 0) throw new Error(`the chain does not tell its allowances: code ${code}`)
    // Field 1 of the response is the list, absent if empty; field 2 is the page.
    return Buffer.from(value ?? '', 'base64')[0] === 0x0a
  }

  return {
    ...payingChain,
    fundsOf,

    async newWallet(funds: bigint): Promise<CosmosWallet> {
      const wallet = await newCosmosWallet()
      if (funds > 0n) await fundCosmosWallet(rpcUrl, wallet.address, `${funds}${DENOM}`)
      return wallet
    },
    /** Signs with the wallet's next sequence; the fee is ours. */
    async sponsoredPayment(wallet: CosmosWallet, terms: Terms): Promise<Payment & { txBase64: string }> {
      const { payload, sequence } = await wallet.pay(client, { ...terms, denom: DENOM }, { granter })
      const { payment } = decodeJson(payload) as { payment: { txBase64: string } }
      const [id, request] = [idOf(wallet.address, sequence), requestFor(payload, terms)]
      return { id, request, isSponsored: true, txBase64: payment.txBase64 }
    },
    /** Sends the payment's transaction past the facilitator. */
    broadcast: ({ txBase64 }: { txBase64: string }) =>
      client.broadcastTxSync(Buffer.from(txBase64, 'base64')),

    async pending(): Promise<number> {
      return Number(((await rpc('num_unconfirmed_txs')) as { total: string }).total)
    },
    /** The minimum price per unit of gas, also for pending transactions: `0.025uatom`. */
    setMinimumGasPrice: (price: string) => rpc('dev_setMinimumGasPrice', price),
    /** Empties the mempool, as a restart does; returns the number of evicted transactions. */
    async dropPending(): Promise<number> {
      return ((await rpc('dev_dropPending')) as { dropped: number }).dropped
    },
  }
}

const idOf = (payer: string, sequence: number | bigint) => `${payer} sequence ${sequence}`

function read(tx: Uint8Array): { messages: Message[]; sequence: bigint } {
  const { authInfo, body } = decodeTxRaw(tx)
  return {
    messages: body.messages.map((message) => registry.decode(message) as Message),
    sequence: authInfo.signerInfos[0]?.sequence ?? 0n,
  }
}
