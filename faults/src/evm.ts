import { developmentSigners, fundWallet, USDC_ADDRESS, usdcAbi, type Apps } from '@tollgate/devnet'
import { type SettleRequest } from '@tollgate/protocol'
import { Interface, Wallet } from 'ethers'
import { tokenAt } from '@tollgate/e2e/testing/chain'
import { settleRequest } from '@tollgate/e2e/testing/paying'
import { queryNode } from '@tollgate/e2e/testing/query-node'
import { type MinedTransaction, type Payment, type PayingChain, type Terms } from './paying-chain'

export type Payer = {
  address: string
  pay: (payTo: string, value: bigint, signing?: { validSeconds?: number }) => Promise<Payment>
}

export type Evm = ReturnType<typeof openEvm>

type Anvil = Apps['infrastructure']['anvil']

type Receipt = { gasUsed: string; from: string; blockNumber: string }

type Eip3009 = {
  signature: string
  authorization: {
    from: string
    to: string
    value: string
    validAfter: string
    validBefore: string
    nonce: string
  }
}

const usdc = new Interface(usdcAbi)
const TRANSFER = 'transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)'
const GWEI = 10n ** 9n
const ETHER = 10n ** 18n
/** Fewer than payments, so that some share a payer. */
const PAYERS = 3

const hex = (value: bigint) => `0x${value.toString(16)}`

export function openEvm({ rpcUrl, chainId, setPace }: Pick<Anvil, 'rpcUrl' | 'chainId' | 'setPace'>) {
  const token = tokenAt(rpcUrl)
  const rpc = (method: string, ...params: unknown[]) => queryNode(rpcUrl, method, params)

  async function newPayer(money: bigint): Promise<Payer> {
    const { address, privateKey } = Wallet.createRandom()
    await fundWallet(rpcUrl, address, { usdc: money })
    return {
      address,
      async pay(payTo, value, signing) {
        return paymentOf(address, await settleRequest({ privateKey }, payTo, value, signing))
      },
    }
  }

  async function newPayments(count: number, { payTo, amount }: Terms): Promise<Payment[]> {
    const payers: Payer[] = []
    while (payers.length < Math.min(count, PAYERS)) payers.push(await newPayer(amount * BigInt(count)))
    const payments: Payment[] = []
    for (let i = 0; i < count; i++) {
      const payer = payers[i % PAYERS]
      if (payer) payments.push(await payer.pay(payTo, amount))
    }
    return payments
  }

  async function mine({ baseFee }: { baseFee?: bigint } = {}): Promise<void> {
    if (baseFee !== undefined) await rpc('anvil_setNextBlockBaseFeePerGas', hex(baseFee))
    await rpc('evm_mine')
  }

  const payingChain: PayingChain = {
    network: `eip155:${chainId}`,
    signers: developmentSigners.map(({ address }) => address),
    newPayments,
    newRecipient: () => Promise.resolve(newRecipient()),
    async paidTo(recipient) {
      const used = await token.authorizationsTo(recipient)
      return used.map(({ payer, nonce, transaction, value }) => ({
        id: idOf(payer, nonce),
        transaction,
        value,
      }))
    },
    transactionsOf: async (address) =>
      BigInt((await rpc('eth_getTransactionCount', address, 'latest')) as string),
    async mined(transaction): Promise<MinedTransaction | undefined> {
      const receipt = (await rpc('eth_getTransactionReceipt', transaction)) as Receipt | null
      if (receipt === null) return undefined
      return { gas: BigInt(receipt.gasUsed), signer: receipt.from, block: BigInt(receipt.blockNumber) }
    },
    // The tests of the facilitator compare gas costs with the receipts.
    feeProblems: () => Promise.resolve([]),
    mine,
    setPace,
    close: () => token.close(),
  }

  return {
    ...payingChain,
    rpc,
    newPayer,
    mine,
    height: async () => BigInt((await rpc('eth_blockNumber')) as string),

    /** A payment, and a signed transaction in which its payer uses the same authorization nonce for something else. */
    async payAndRival(payTo: string, value: bigint): Promise<{ payment: Payment; rival: string }> {
      const payer = Wallet.createRandom()
      await fundWallet(rpcUrl, payer.address, { usdc: value, wei: ETHER })
      const request = await settleRequest(payer, payTo, value)
      const { nonce } = authorizationIn(request).authorization
      const other = await settleRequest(payer, newRecipient(), value, { nonce })
      const rival = await payer.signTransaction({
        type: 2,
        chainId: 84532,
        nonce: 0,
        to: USDC_ADDRESS,
        data: callOf(authorizationIn(other)),
        gasLimit: 200_000,
        maxFeePerGas: 100n * GWEI,
        maxPriorityFeePerGas: GWEI,
      })
      return { payment: paymentOf(payer.address, request), rival }
    },

    /**
     * Replaces the newest `depth` blocks: the first contains these signed `transactions`, the others none.
     */
    reorg: (depth: bigint, transactions: readonly string[] = []) =>
      rpc(
        'anvil_reorg',
        Number(depth),
        transactions.map((raw) => [raw, 0]),
      ),
  }
}

const newRecipient = () => Wallet.createRandom().address

const idOf = (payer: string, nonce: string) => `${payer} ${nonce}`.toLowerCase()

const paymentOf = (payer: string, request: SettleRequest): Payment => ({
  id: idOf(payer, authorizationIn(request).authorization.nonce),
  request,
  isSponsored: false,
})

const authorizationIn = ({ paymentPayload }: SettleRequest) => paymentPayload.payload as Eip3009

const callOf = ({ signature, authorization: { from, to, value, validAfter, validBefore, nonce } }: Eip3009) =>
  usdc.encodeFunctionData(TRANSFER, [from, to, value, validAfter, validBefore, nonce, signature])
