import { type Any } from 'cosmjs-types/google/protobuf/any'
import { type Store } from './store'

export type Account = {
  address: string
  accountNumber: bigint
  sequence: bigint
  publicKey?: Any
  /** The name of the module that owns the account. */
  module?: string
}

const NEXT = 'next/account-number'
const keyOf = (address: string) => `account/${address}`

type Row = {
  n: string
  s: string
  k?: [string, string]
  m?: string
}

export function readAccount(store: Store, address: string): Account | undefined {
  const text = store.get(keyOf(address))
  if (text === undefined) return undefined
  const { n, s, k, m } = JSON.parse(text) as Row
  return {
    address,
    accountNumber: BigInt(n),
    sequence: BigInt(s),
    ...(k && { publicKey: { typeUrl: k[0], value: Buffer.from(k[1], 'base64') } }),
    ...(m !== undefined && { module: m }),
  }
}

export function writeAccount(store: Store, account: Account) {
  const { address, accountNumber, sequence, publicKey, module } = account
  const row: Row = {
    n: accountNumber.toString(),
    s: sequence.toString(),
    ...(publicKey && { k: [publicKey.typeUrl, Buffer.from(publicKey.value).toString('base64')] }),
    ...(module !== undefined && { m: module }),
  }
  store.set(keyOf(address), JSON.stringify(row))
}

/** Creates the account with the next number unless it exists. */
export function ensureAccount(store: Store, address: string, module?: string) {
  if (store.get(keyOf(address)) !== undefined) return
  const accountNumber = BigInt(store.get(NEXT) ?? 0)
  store.set(NEXT, (accountNumber + 1n).toString())
  writeAccount(store, {
    address,
    accountNumber,
    sequence: 0n,
    ...(module !== undefined && { module }),
  })
}

export const allAddresses = (store: Store) => store.keysOf('account/').map((key) => key.slice(8))
