import { UsageError } from '../exit-codes'
import { type Secrets } from '../terminal'

/** What a wallet is made from. */
export type Key = { kind: 'mnemonic'; phrase: string } | { kind: 'private-key'; privateKey: string }

const PRIVATE_KEY = /^(?:0x)?([0-9a-f]{64})$/i

/** @throws UsageError, without the text */
export function parsePrivateKey(text: string, secrets: Secrets): Key {
  const [, hex] = PRIVATE_KEY.exec(secrets.addKey(text).trim()) ?? []
  if (hex === undefined) throw new UsageError('PRIVATE_KEY is not 32 bytes in hex')
  return { kind: 'private-key', privateKey: `0x${hex}` }
}

/** @throws UsageError, without the text */
export async function parseMnemonic(text: string, secrets: Secrets): Promise<Key> {
  const { Mnemonic } = await import('ethers')
  const phrase = secrets.addKey(text).trim().split(/\s+/).join(' ')
  secrets.addKey(phrase)
  if (!Mnemonic.isValidMnemonic(phrase))
    throw new UsageError('MNEMONIC is not a valid phrase: 12 to 24 English words with their checksum')
  return { kind: 'mnemonic', phrase }
}

/** An account of ethers, at `m/44'/60'/0'/0/0` of a mnemonic. @throws UsageError */
export async function evmAccount(key: Key) {
  const { HDNodeWallet, Wallet } = await import('ethers')
  if (key.kind === 'mnemonic') return HDNodeWallet.fromPhrase(key.phrase)
  try {
    return new Wallet(key.privateKey)
  } catch {
    throw new UsageError('The private key is not one of secp256k1')
  }
}
