import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { PublicKey } from '../signing/public-key'

/** What public libraries signed with keys that everybody knows. */
export type Vectors = {
  madeBy: { name: string; version: string }[]
  /** By which of its functions. */
  how: string
  keys: Partial<Record<PublicKey['type'], { mnemonic: string; path: string; privateKey: string }>>
  signIns: {
    key: PublicKey['type']
    address: string
    pubkey: string
    message: string
    signature: string
  }[]
  transactions: {
    key: PublicKey['type']
    mode: 'direct' | 'amino'
    chainId: string
    accountNumber: string
    sequence: string
    from: string
    to: string
    amount: string
    denom: string
    fee: { amount: { denom: string; amount: string }[]; gas: string; granter?: string }
    memo: string
    timeoutHeight: string
    /** Base64, as the library wrote it; and its upper-case hex SHA-256. */
    txRaw: string
    hash: string
    /** Base64: what the library hashed and signed. */
    signBytes: string
  }[]
}

const folder = join(__dirname, '..', 'vectors')

/** The known answers of each library, by its file's name. */
export const vectors: [string, Vectors][] = readdirSync(folder).map((file) => [
  file.replace('.json', ''),
  JSON.parse(readFileSync(join(folder, file), 'utf8')) as Vectors,
])
