import { makeSignDoc as makeAminoDoc, Secp256k1Wallet } from '@cosmjs/amino'
import { toBase64 } from '@cosmjs/encoding'
import {
  type AccountData,
  DirectSecp256k1Wallet,
  encodePubkey,
  makeAuthInfoBytes,
  makeSignDoc,
} from '@cosmjs/proto-signing'
import { fundCosmosWallet } from '@tollgate/cosmos-devchain'
import { decodeJson, encodeJson, type PaymentRequiredV2, type PricingPlan } from '@tollgate/protocol'
import { BaseAccount } from 'cosmjs-types/cosmos/auth/v1beta1/auth'
import { QueryAccountRequest, QueryAccountResponse } from 'cosmjs-types/cosmos/auth/v1beta1/query'
import { QueryBalanceRequest, QueryBalanceResponse } from 'cosmjs-types/cosmos/bank/v1beta1/query'
import { MsgSend } from 'cosmjs-types/cosmos/bank/v1beta1/tx'
import { AuthInfo, TxBody, TxRaw } from 'cosmjs-types/cosmos/tx/v1beta1/tx'
import { randomBytes } from 'node:crypto'
import { callRpc } from '../evm/rpc'
import { type DemoWallet } from './demo'

const MSG_SEND = '/cosmos.bank.v1beta1.MsgSend'
const GAS = 120_000
/** In uatom, at the gas price of the chain. */
const FEE = '3000'

/** A new Cosmos wallet that holds `coins` and nothing for fees; it signs in by ADR-036 and pays by a bank send. */
export async function createCosmosWallet(rpcUrl: string, coins: string): Promise<DemoWallet> {
  const key = randomBytes(32)
  const wallet = await DirectSecp256k1Wallet.fromKey(key, 'cosmos')
  const aminoWallet = await Secp256k1Wallet.fromKey(key, 'cosmos')
  const [{ address, pubkey }] = (await wallet.getAccounts()) as [AccountData]
  await fundCosmosWallet(rpcUrl, address, coins)

  return {
    address,

    /** https://github.com/cosmos/cosmos-sdk/blob/main/docs/architecture/adr-036-arbitrary-signature.md */
    async signIn(message) {
      const data = toBase64(Buffer.from(message))
      const text = { type: 'sign/MsgSignData', value: { signer: address, data } }
      const doc = makeAminoDoc([text], { gas: '0', amount: [] }, '', '', 0, 0)
      const { signature } = await aminoWallet.signAmino(address, doc)
      return {
        auth_method: 'siwc',
        signature: signature.signature,
        pubkey: signature.pub_key.value as string,
      }
    },

    async pay({ chain_id: chainId }, { headers }) {
      const { accepts } = decodeJson(headers.get('payment-required') ?? '') as PaymentRequiredV2
      const [offer] = accepts
      const feePayer = offer?.extra?.['feePayer']
      if (offer === undefined || typeof feePayer !== 'string')
        throw new Error('The 402 offers no payment with a fee payer')
      const coins = [{ denom: offer.asset, amount: offer.amount }]
      const send = MsgSend.fromPartial({ fromAddress: address, toAddress: offer.payTo, amount: coins })
      const value = MsgSend.encode(send).finish()
      const body = TxBody.encode(TxBody.fromPartial({ messages: [{ typeUrl: MSG_SEND, value }] })).finish()

      const { accountNumber, sequence } = await accountOf(rpcUrl, address)
      const type = 'tendermint/PubKeySecp256k1'
      const signer = { pubkey: encodePubkey({ type, value: toBase64(pubkey) }), sequence }
      const fee = [{ denom: 'uatom', amount: FEE }]
      const authInfo = makeAuthInfoBytes([signer], fee, GAS, feePayer, undefined)
      const doc = makeSignDoc(body, authInfo, chainId, accountNumber)
      const { signature } = await wallet.signDirect(address, doc)
      const tx = TxRaw.encode({
        bodyBytes: body,
        authInfoBytes: authInfo,
        signatures: [Buffer.from(signature.signature, 'base64')],
      }).finish()

      const payment = {
        amount: offer.amount,
        denom: offer.asset,
        payer: address,
        recipient: offer.payTo,
        txBase64: toBase64(tx),
        publicKey: toBase64(pubkey),
      }
      const payload = encodeJson({ version: 1, chainId, payment })
      const paymentPayload = { x402Version: 1, scheme: 'exact', network: chainId, payload }
      return {
        header: encodeJson({ paymentPayload, paymentRequirements: offer }),
        signed: `bank send, sequence ${sequence} of the account; ${feePayer} pays its fee of ${FEE}uatom`,
      }
    },

    payload: { jsonrpc: '2.0', id: 1, method: 'status', params: {} },
    formatResult: (body) => `status: block ${(body as Status).result.sync_info.latest_block_height}`,
    check: (plan, transaction) => checkSend(rpcUrl, transaction, plan, address),
  }
}

type Status = { result: { sync_info: { latest_block_height: string } } }

async function accountOf(rpcUrl: string, address: string) {
  const request = QueryAccountRequest.encode({ address }).finish()
  const found = await query(rpcUrl, '/cosmos.auth.v1beta1.Query/Account', request)
  const { accountNumber, sequence } = BaseAccount.decode(
    QueryAccountResponse.decode(found).account?.value ?? new Uint8Array(),
  )
  return { accountNumber: Number(accountNumber), sequence: Number(sequence) }
}

async function query(rpcUrl: string, path: string, request: Uint8Array): Promise<Uint8Array> {
  const data = Buffer.from(request).toString('hex')
  const { response } = (await callRpc(rpcUrl, 'abci_query', path, data, '0', false)) as {
    response: { code: number; log: string; value: string }
  }
  if (response.code !== 0) throw new Error(`${path}: ${response.log}`)
  return Buffer.from(response.value, 'base64')
}

async function checkSend(rpcUrl: string, transaction: string, plan: PricingPlan, payer: string) {
  const hash = Buffer.from(transaction, 'hex').toString('base64')
  const found = (await callRpc(rpcUrl, 'tx', hash, false)) as { tx: string; tx_result: { code: number } }
  const { bodyBytes, authInfoBytes } = TxRaw.decode(Buffer.from(found.tx, 'base64'))
  const [message, ...others] = TxBody.decode(bodyBytes).messages
  const send =
    message?.typeUrl === MSG_SEND && others.length === 0 ? MsgSend.decode(message.value) : undefined
  const coins = send?.amount.map(({ amount, denom }) => amount + denom).join()
  if (
    found.tx_result.code !== 0 ||
    send?.fromAddress !== payer ||
    send.toAddress !== plan.pay_to ||
    coins !== plan.amount + plan.asset_address
  )
    throw new Error(`The chain does not show the payment in ${transaction}`)

  const denom = plan.asset_address
  const request = QueryBalanceRequest.encode({ address: payer, denom }).finish()
  const { balance } = QueryBalanceResponse.decode(
    await query(rpcUrl, '/cosmos.bank.v1beta1.Query/Balance', request),
  )
  if (balance?.amount !== '0')
    throw new Error(`The wallet holds ${balance?.amount ?? '?'}${denom} instead of nothing`)
  const granter = AuthInfo.decode(authInfoBytes).fee?.granter ?? ''
  return `send of exactly ${coins} from the wallet, which is now empty, to ${plan.pay_to}; fee from ${granter}`
}
