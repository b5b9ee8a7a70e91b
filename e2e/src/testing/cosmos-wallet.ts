import { Secp256k1Wallet } from '@cosmjs/amino'
import { toBase64 } from '@cosmjs/encoding'
import { DirectSecp256k1Wallet, type EncodeObject, type OfflineSigner } from '@cosmjs/proto-signing'
import { coins, SigningStargateClient, type StargateClient } from '@cosmjs/stargate'
import { encodeJson } from '@tollgate/protocol'
import { TxRaw } from 'cosmjs-types/cosmos/tx/v1beta1/tx'
import { randomBytes } from 'node:crypto'

/** In uatom; above the minimum of the development chain. */
export const COSMOS_FEE = 5_000n
const GAS = '150000'

export type CosmosTerms = {
  payTo: string
  /** Smallest units. */
  amount: bigint
  denom?: string
}

export type CosmosPaymentOptions = {
  /** Pays the fee; the payer does if absent. */
  granter?: string | undefined
  mode?: 'direct' | 'amino'
  /** The last block that may include the transaction; unlimited if absent. */
  timeoutHeight?: bigint
}

export type CosmosWallet = Awaited<ReturnType<typeof newCosmosWallet>>

export async function newCosmosWallet(key: Uint8Array = randomBytes(32)) {
  const amino = await Secp256k1Wallet.fromKey(key, 'cosmos')
  const [account] = await amino.getAccounts()
  if (!account) throw new Error('The wallet has no account')
  const { address, pubkey } = account
  const publicKey = toBase64(pubkey)
  const signers: Record<'direct' | 'amino', () => Promise<OfflineSigner>> = {
    amino: () => Promise.resolve(amino),
    direct: () => DirectSecp256k1Wallet.fromKey(key, 'cosmos'),
  }

  return {
    address,
    publicKey,

    /** Signs arbitrary text (ADR-036); returns base64. */
    async signArbitrary(text: string): Promise<string> {
      const { signature } = await amino.signAmino(address, {
        chain_id: '',
        account_number: '0',
        sequence: '0',
        fee: { gas: '0', amount: [] },
        msgs: [
          {
            type: 'sign/MsgSignData',
            value: { signer: address, data: Buffer.from(text, 'utf8').toString('base64') },
          },
        ],
        memo: '',
      })
      return signature.signature
    },

    /** Signs a payment with the account's current sequence, and returns the `payload` of an x402 payment. */
    async pay(
      client: StargateClient,
      { payTo, amount, denom = 'uatom' }: CosmosTerms,
      { granter, mode = 'direct', timeoutHeight }: CosmosPaymentOptions = {},
    ): Promise<{ payload: string; sequence: number }> {
      const [{ accountNumber, sequence }, chainId] = await Promise.all([
        client.getSequence(address),
        client.getChainId(),
      ])
      const send: EncodeObject = {
        typeUrl: '/cosmos.bank.v1beta1.MsgSend',
        value: { fromAddress: address, toAddress: payTo, amount: coins(amount.toString(), denom) },
      }
      const fee = {
        amount: coins(COSMOS_FEE.toString(), 'uatom'),
        gas: GAS,
        ...(granter === undefined ? {} : { granter }),
      }
      const signing = await SigningStargateClient.offline(await signers[mode]())
      const signer = { accountNumber, sequence, chainId }
      const signed = await signing.sign(address, [send], fee, '', signer, timeoutHeight)
      const payment = {
        amount: amount.toString(),
        denom,
        payer: address,
        recipient: payTo,
        txBase64: toBase64(TxRaw.encode(signed).finish()),
        publicKey,
      }
      return { payload: encodeJson({ version: 1, chainId, payment }), sequence }
    },
  }
}
