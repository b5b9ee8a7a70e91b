import { developmentSigners, fundWallet, type Apps } from '@tollgate/devnet'
import { type SettleRequest } from '@tollgate/protocol'
import { Wallet } from 'ethers'
import { tokenAt } from '../testing/chain'
import { settleRequest } from '../testing/paying'

/** A payment that somebody signed. `id` is unlike that of any other, and the same on the chain. */
export type Payment = { id: string; request: SettleRequest }

/** A payment as the chain has it: the transaction that moved the money, and how much. */
export type Transfer = { id: string; transaction: string; value: bigint }

/** Somebody with money. Addresses and amounts (smallest units) are the chain family's own. */
export type Payer = {
  address: string
  /** Signs a payment, which can be settled for ten minutes unless told otherwise. */
  pay: (payTo: string, value: bigint, signing?: { validSeconds?: number }) => Promise<Payment>
}

/** What the scripts need of a chain to pay on it, and to count what was paid. */
export type PayingChain = {
  /** Its CAIP-2 name. */
  network: string
  /** From whose keys the facilitators of a world settle. */
  signers: readonly string[]
  newPayer: (money: bigint) => Promise<Payer>
  /** An address that nobody has paid yet. */
  newRecipient: () => string
  /** Every payment that reached the address, from the first block on: one for each time that money moved. */
  paidTo: (recipient: string) => Promise<Transfer[]>
  /** How many transactions the chain has of an address. */
  transactionsOf: (address: string) => Promise<bigint>
  /** How blocks come from now on; nobody can be given money while they do not come. */
  setPace: Anvil['setPace']
  close: () => void
}

type Anvil = Apps['foundation']['anvil']

export function evmPayingChain({
  rpcUrl,
  chainId,
  setPace,
}: Pick<Anvil, 'rpcUrl' | 'chainId' | 'setPace'>): PayingChain {
  const token = tokenAt(rpcUrl)
  return {
    network: `eip155:${chainId}`,
    signers: developmentSigners.map(({ address }) => address),
    async newPayer(usdc) {
      const { address, privateKey } = Wallet.createRandom()
      await fundWallet(rpcUrl, address, { usdc })
      return {
        address,
        async pay(payTo, value, signing) {
          return paymentOf(address, await settleRequest({ privateKey }, payTo, value, signing))
        },
      }
    },
    newRecipient: () => Wallet.createRandom().address,
    async paidTo(recipient) {
      const used = await token.authorizationsTo(recipient)
      return used.map(({ payer, nonce, transaction, value }) => ({
        id: idOf(payer, nonce),
        transaction,
        value,
      }))
    },
    transactionsOf: async (address) =>
      BigInt((await askNode(rpcUrl, 'eth_getTransactionCount', address, 'latest')) as string),
    setPace,
    close: () => token.close(),
  }
}

const idOf = (payer: string, nonce: string) => `${payer} ${nonce}`.toLowerCase()

export const paymentOf = (payer: string, request: SettleRequest): Payment => ({
  id: idOf(payer, nonceOf(request)),
  request,
})

const nonceOf = ({ paymentPayload }: SettleRequest) =>
  (paymentPayload.payload as { authorization: { nonce: string } }).authorization.nonce

/** @throws Error where the node refuses */
export async function askNode(rpcUrl: string, method: string, ...params: unknown[]): Promise<unknown> {
  const answer = await fetch(rpcUrl, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })
  const { result, error } = (await answer.json()) as { result?: unknown; error?: { message: string } }
  if (error) throw new Error(`${method}: ${error.message}`)
  return result
}
