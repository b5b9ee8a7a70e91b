import { TollgateError } from '../../errors.js'

/** The types of CosmJS as far as they are used, for published types without CosmJS. */

export type CosmosAccount = { address: string; algo: string; pubkey: Uint8Array }

/** Both in base64. */
type CosmosSignature = { signature: string; pub_key: { value: string } }

export type Coin = { denom: string; amount: string }

export type Fee = {
  readonly amount: readonly Coin[]
  readonly gas: string
  readonly granter?: string
  readonly payer?: string
}

type DirectDoc = {
  bodyBytes: Uint8Array
  authInfoBytes: Uint8Array
  chainId: string
  accountNumber: bigint
}

export type AminoDoc = {
  readonly chain_id: string
  readonly account_number: string
  readonly sequence: string
  readonly fee: Fee
  readonly msgs: readonly { readonly type: string; readonly value: Readonly<Record<string, unknown>> }[]
  readonly memo: string
  readonly timeout_height?: string
}

/** CosmJS's `OfflineSigner`, direct, amino or both: `signed` is what the wallet has signed, which may differ from what it got. */
export type CosmosSigner = {
  getAccounts(): Promise<readonly CosmosAccount[]>
  signDirect?(address: string, doc: DirectDoc): Promise<{ signed: DirectDoc; signature: CosmosSignature }>
  signAmino?(address: string, doc: AminoDoc): Promise<{ signed: AminoDoc; signature: CosmosSignature }>
}

export type CosmosWalletInput = {
  signer: CosmosSigner
  /** By ADR-036, for a signer without `signAmino`: `(address, text) => keplr.signArbitrary(chainId, address, text)`. */
  signArbitrary?(address: string, text: string): Promise<CosmosSignature>
  /**
   * What to pay for a unit of gas, such as `0.025uatom`; `0uatom` pays no fee. Default: the lowest price that the node takes, if the
   * fee is at most 100,000 smallest units. Give it for a chain with a fee market, or with denominations of 18 decimals.
   */
  gasPrice?: string
}

/** Of a signer alone, or with what it cannot do itself; undefined for a wallet of another kind. */
export function readWalletInput(input: unknown): CosmosWalletInput | undefined {
  if (isSigner(input)) return { signer: input }
  const { signer } = (input ?? {}) as Partial<CosmosWalletInput>
  return isSigner(signer) ? (input as CosmosWalletInput) : undefined
}

function isSigner(value: unknown): value is CosmosSigner {
  const { getAccounts, signDirect, signAmino } = (value ?? {}) as Partial<Record<keyof CosmosSigner, unknown>>
  return [signDirect, signAmino].some(isFunction) && isFunction(getAccounts)
}

const isFunction = (value: unknown) => typeof value === 'function'

/** Wallets throw anything if their user refuses. @throws TollgateError SIGNATURE_REFUSED */
export async function callSigner<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call()
  } catch (cause) {
    if (cause instanceof TollgateError) throw cause
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new TollgateError('SIGNATURE_REFUSED', `The wallet did not sign: ${reason}`, { cause })
  }
}
