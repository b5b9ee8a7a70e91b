import { randomBytes } from 'node:crypto'
import { Secp256k1Wallet } from '@cosmjs/amino'
import { DirectSecp256k1Wallet, type EncodeObject, type OfflineSigner } from '@cosmjs/proto-signing'
import { SigningStargateClient, type StdFee } from '@cosmjs/stargate'
import { COSMOS_CHAIN_ID, fundCosmosWallet, startCosmos, type CosmosOptions } from '@tollgate/cosmos-devchain'
import { type PaymentRequirements } from '@tollgate/protocol'
import { closeLater } from '@tollgate/testing'
import { TxRaw } from 'cosmjs-types/cosmos/tx/v1beta1/tx'
import { type NetworkConfiguration } from '../networks/settings'

export const COSMOS_AMOUNT = 10_000n
export const COSMOS_FEE = 5_000n

export async function ownCosmosChain(options: CosmosOptions = {}) {
  const chain = await startCosmos(options)
  closeLater(() => chain.stop())
  return chain
}

export type CosmosWallet = { address: string; key: Uint8Array; publicKey: Uint8Array; signer: OfflineSigner }

export async function newCosmosWallet(
  rpcUrl: string,
  amount = 0n,
  mode: 'direct' | 'amino' = 'direct',
): Promise<CosmosWallet> {
  const key = new Uint8Array(randomBytes(32))
  const signer = await (mode === 'direct' ? DirectSecp256k1Wallet : Secp256k1Wallet).fromKey(key)
  const [account] = await signer.getAccounts()
  if (!account) throw new Error('The wallet holds no account')
  if (amount > 0n) await fundCosmosWallet(rpcUrl, account.address, `${amount}uatom`)
  return { address: account.address, key, publicKey: account.pubkey, signer }
}

/** The Cosmos development chain as an additional network, whose fees this key's account pays. */
export const cosmosNetwork = (
  rpcUrl: string,
  { key }: CosmosWallet,
  changes: Partial<NetworkConfiguration> & { gaslessMaxFee?: bigint | undefined } = {},
): Partial<NetworkConfiguration> => {
  const { gaslessMaxFee, ...rest } = { gaslessMaxFee: 2n * COSMOS_FEE, ...changes }
  return {
    name: COSMOS_CHAIN_ID,
    ecosystem: 'cosmos',
    chainId: COSMOS_CHAIN_ID,
    rpcUrls: [rpcUrl],
    signerKeys: [`0x${Buffer.from(key).toString('hex')}`],
    maxFeesPerDay: 1_000_000_000n,
    own: {
      prefix: 'cosmos',
      feeDenom: 'uatom',
      gasPrice: 25n * 10n ** 15n,
      ...(gaslessMaxFee === undefined ? {} : { gaslessMaxFee }),
    },
    assets: [{ asset: 'uatom', symbol: 'ATOM', decimals: 6 }],
    ...rest,
  }
}

export type CosmosChanges = {
  payTo?: string
  amount?: bigint
  granter?: string | undefined
  fee?: Partial<StdFee>
  memo?: string
  messages?: readonly EncodeObject[]
  sequence?: number
  timeoutHeight?: bigint
  requirements?: Partial<PaymentRequirements>
}

export async function signSend(
  rpcUrl: string,
  wallet: CosmosWallet,
  payTo: string,
  changes: CosmosChanges = {},
): Promise<Uint8Array> {
  const { amount = COSMOS_AMOUNT, granter, memo = '', timeoutHeight } = changes
  const client = await SigningStargateClient.connectWithSigner(rpcUrl, wallet.signer)
  try {
    const { accountNumber, sequence } = await client.getSequence(wallet.address)
    const value = {
      fromAddress: wallet.address,
      toAddress: payTo,
      amount: [{ denom: 'uatom', amount: `${amount}` }],
    }
    const fee: StdFee = {
      amount: [{ denom: 'uatom', amount: `${COSMOS_FEE}` }],
      gas: '200000',
      ...(granter === undefined ? {} : { granter }),
      ...changes.fee,
    }
    const messages = changes.messages ?? [{ typeUrl: '/cosmos.bank.v1beta1.MsgSend', value }]
    const place = { accountNumber, sequence: changes.sequence ?? sequence, chainId: COSMOS_CHAIN_ID }
    return TxRaw.encode(await client.sign(wallet.address, messages, fee, memo, place, timeoutHeight)).finish()
  } finally {
    client.disconnect()
  }
}

export function cosmosRequestOf(
  wallet: CosmosWallet,
  tx: Uint8Array,
  { payTo, amount }: { payTo: string; amount: bigint },
  requirements: Partial<PaymentRequirements> = {},
) {
  const payment = {
    amount: `${amount}`,
    denom: 'uatom',
    payer: wallet.address,
    recipient: payTo,
    txBase64: Buffer.from(tx).toString('base64'),
    publicKey: Buffer.from(wallet.publicKey).toString('base64'),
  }
  const payload = { version: 1, chainId: COSMOS_CHAIN_ID, payment }
  return {
    x402Version: 1,
    paymentPayload: { x402Version: 1, scheme: 'exact', network: COSMOS_CHAIN_ID, payload },
    paymentRequirements: {
      scheme: 'exact',
      network: COSMOS_CHAIN_ID,
      maxAmountRequired: `${amount}`,
      resource: 'https://shop.example/report',
      description: '',
      mimeType: '',
      payTo,
      maxTimeoutSeconds: 60,
      asset: 'uatom',
      ...requirements,
    },
  }
}
export type CosmosRequest = ReturnType<typeof cosmosRequestOf>

export async function cosmosRequest(
  rpcUrl: string,
  wallet: CosmosWallet,
  changes: CosmosChanges = {},
): Promise<CosmosRequest> {
  const { payTo = (await newCosmosWallet(rpcUrl)).address, amount = COSMOS_AMOUNT } = changes
  const tx = await signSend(rpcUrl, wallet, payTo, changes)
  return cosmosRequestOf(wallet, tx, { payTo, amount }, changes.requirements)
}
