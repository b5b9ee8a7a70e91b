import { randomBytes } from 'node:crypto'
import { fromBech32, toBech32 } from '@cosmjs/encoding'
import { SignMode } from 'cosmjs-types/cosmos/tx/signing/v1beta1/signing'
import { AuthInfo, TxBody, TxRaw } from 'cosmjs-types/cosmos/tx/v1beta1/tx'
import { Any } from 'cosmjs-types/google/protobuf/any'
import { type NetworkSettings, type Refusal, type Terms } from '../../family'
import { createChain } from '../chain'
import type { CosmosSettings } from '../network'
import { readPayment } from '../transfer-methods/bank-send/payment'
import { openOwnChain } from './chain'
import {
  type Draft,
  encodeDraft,
  field,
  joined,
  payloadOf,
  signBytesFor,
  signTx,
  type TestWallet,
  walletOf,
} from './transaction'

type Settings = NetworkSettings & CosmosSettings

export type Payload = ReturnType<typeof payloadOf>
export type Circumstances = {
  by?: TestWallet
  terms?: Partial<Terms>
  settings?: Partial<Settings> & { paysOwnFees?: boolean }
  reserved?: bigint
  /** In place of signing the draft as a wallet would. */
  signed?: (wallet: TestWallet, draft: Draft) => Uint8Array
  payload?: (payload: Payload) => object
}

export const amino = SignMode.SIGN_MODE_LEGACY_AMINO_JSON
export const direct = SignMode.SIGN_MODE_DIRECT

export const coin = (amount: string, denom = 'uatom') => ({ amount, denom })
export const feeOf = (changes: Partial<Draft['fee']> = {}): Draft['fee'] => ({
  amount: [coin('5000')],
  gas: 200_000n,
  payer: '',
  granter: '',
  ...changes,
})
export const underOsmo = (address: string) => toBech32('osmo', fromBech32(address, 90).data, 90)

export const other = walletOf(randomBytes(32))
export const anything = Any.fromPartial({ typeUrl: '/a.B', value: Uint8Array.of(8, 1) })
export const signerInfo = (of: TestWallet, changes: object = {}) => ({
  publicKey: of.publicKeyAny,
  modeInfo: { single: { mode: direct } },
  sequence: 0n,
  ...changes,
})
export const signers = (...signerInfos: object[]) => ({
  authInfo: { signerInfos: AuthInfo.fromPartial({ signerInfos }).signerInfos },
})
export const messages = (...of: Any[]) => ({ body: TxBody.fromPartial({ messages: of }) })
export const packed = <T>(
  typeUrl: string,
  codec: { encode(message: T): { finish(): Uint8Array } },
  message: T,
) => Any.fromPartial({ typeUrl, value: codec.encode(message).finish() })
/** What is said with the transaction as it is, and then changed in its bytes. */
export const changed =
  (change: (raw: { bodyBytes: Uint8Array; authInfoBytes: Uint8Array; signatures: Uint8Array[] }) => object) =>
  (wallet: TestWallet, draft: Draft) => {
    const raw = TxRaw.decode(signTx(wallet, draft))
    return TxRaw.encode(TxRaw.fromPartial({ ...raw, ...change(raw) })).finish()
  }
/** Signed as it should be, over bytes that say more. */
export const signedOver =
  (change: (parts: { bodyBytes: Uint8Array; authInfoBytes: Uint8Array }) => object) =>
  (wallet: TestWallet, draft: Draft) => {
    const parts = encodeDraft(wallet, draft)
    const said = { ...parts, ...change(parts) }
    return TxRaw.encode({ ...said, signatures: [wallet.sign(signBytesFor(draft, said))] }).finish()
  }
/** Says this of the payment in place of what is so. */
export const stating =
  (changes: object) =>
  (payload: Payload): object => ({ ...payload, payment: { ...payload.payment, ...changes } })
export const unknown = field(99, Uint8Array.of(1))
export const highTwin = (signature: Uint8Array) => {
  const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
  const s = order - BigInt(`0x${Buffer.from(signature.subarray(32)).toString('hex')}`)
  return joined(signature.subarray(0, 32), Buffer.from(s.toString(16).padStart(64, '0'), 'hex'))
}

export type Verifying = Awaited<ReturnType<typeof openVerifying>>

/** A chain of this test's own, a payer on it, and what our side says to its payments. */
export async function openVerifying() {
  const world = await openOwnChain()
  const payer = await world.newPayer()
  const chains: { close(): void }[] = []

  const { name, chainId, prefix, feeDenom, gasPrice, maxGas } = world.network
  const settings: Settings = {
    ...{ name, ecosystem: 'cosmos', chainId, prefix, feeDenom, gasPrice, maxGas },
    rpcUrls: [world.rpcUrl],
    rpcTimeoutMs: 5_000,
    signerKeys: [`0x${Buffer.from(world.signer.privateKey).toString('hex')}`],
    confirmations: 1,
    minRemainingValiditySeconds: 6,
    maxFeesPerDay: 1_000_000n,
    gaslessMaxFee: 6_000n,
  }

  function connect({ paysOwnFees = false, ...changes }: NonNullable<Circumstances['settings']> = {}) {
    const { gaslessMaxFee, ...own } = settings
    const sponsored = paysOwnFees || gaslessMaxFee === undefined ? {} : { gaslessMaxFee }
    const chain = createChain({ ...own, ...sponsored, ...changes })
    chains.push(chain)
    return chain
  }

  /** Why a payment that meets the terms but for these changes is refused. */
  async function refusal(
    changes: Partial<Draft> = {},
    { by = payer, terms = {}, settings, reserved, signed = signTx, payload = (it) => it }: Circumstances = {},
  ): Promise<Refusal | undefined> {
    const draft = await world.draft(by, changes)
    const payment = readPayment(payload(payloadOf(by, draft, signed(by, draft))))
    if (payment === undefined) throw new Error('The payment cannot be read')
    return connect(settings).payments.verify({
      payment,
      terms: { ...world.terms, ...terms },
      now: new Date(),
      reserved,
    })
  }

  const gasless = (changes: Partial<Draft['fee']> = {}) => ({
    fee: feeOf({ granter: world.signer.address, ...changes }),
  })
  const inBlocks = async (count: bigint) => ({ timeoutHeight: (await world.height()) + count })

  return {
    world,
    payer,
    settings,
    connect,
    refusal,
    gasless,
    inBlocks,
    async close(): Promise<void> {
      for (const chain of chains) chain.close()
      await world.close()
    },
  }
}
