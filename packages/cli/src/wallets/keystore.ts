import { TollgateError } from '@tollgate/wallet'
import { scrypt as nodeScrypt } from 'node:crypto'
import { open, readFile, stat } from 'node:fs/promises'
import { UsageError } from '../exit-codes'
import { type Secrets } from '../terminal'
import { evmAccount, type Key } from './key'
import { withoutKeys } from './key-texts'

export type Keystore = { file: string; json: string; address: string | undefined }

/** An encrypted JSON keystore, version 3 (as of geth). @throws UsageError */
export async function readKeystore(file: string): Promise<Keystore> {
  const json = await readFile(file, 'utf8').catch((cause: unknown) => {
    const code = codeOf(cause)
    const reason =
      code === 'ENOENT' ? 'there is no such file; make one with `tollgate wallet new FILE`' : code
    throw new UsageError(`The keystore ${withoutKeys(file)} cannot be read: ${reason}`, { cause })
  })
  const { isKeystoreJson } = await import('ethers')
  if (!isKeystoreJson(json))
    throw new UsageError(
      `${file} is not an encrypted keystore (JSON, version 3); \`tollgate wallet new FILE\` makes one`,
    )
  return { file, json, address: await addressIn(json) }
}

/**
 * Tries the password as typed, as geth takes it, and normalized (NFKC), as ethers takes it.
 * @throws TollgateError INVALID_ARGUMENT for a wrong password
 */
export async function decryptKeystore(
  { file, json }: Keystore,
  password: string,
  secrets: Secrets,
): Promise<Key> {
  const { HDNodeWallet, Wallet } = await ethersWithFastScrypt()
  const open = (spelling: string) => Wallet.fromEncryptedJson(json, Buffer.from(spelling))
  const normalized = password.normalize('NFKC')
  const account = await open(password)
    .catch((error: unknown) => {
      if (normalized === password) throw error
      return open(normalized)
    })
    .catch(() => {
      throw new TollgateError('INVALID_ARGUMENT', `The password does not open the keystore ${file}`)
    })
  secrets.addKey(account.privateKey)
  const phrase = account instanceof HDNodeWallet ? account.mnemonic?.phrase : undefined
  if (phrase === undefined) return { kind: 'private-key', privateKey: account.privateKey }
  return { kind: 'mnemonic', phrase: secrets.addKey(phrase) }
}

/** For its owner only, and never over another file. @throws UsageError */
export async function writeKeystore(file: string, key: Key, password: string): Promise<string> {
  const account = await evmAccount(key)
  await ethersWithFastScrypt()
  const json = await account.encrypt(password)
  try {
    const handle = await open(file, 'wx', 0o600)
    try {
      await handle.writeFile(json)
      await handle.sync()
    } finally {
      await handle.close()
    }
  } catch (cause) {
    const reason = codeOf(cause) === 'EEXIST' ? 'it exists already' : codeOf(cause)
    throw new UsageError(`The keystore ${withoutKeys(file)} cannot be written (${reason})`, { cause })
  }
  return account.address
}

/** Whether others than its owner may read the file; never on Windows. */
export async function isReadableForOthers(file: string): Promise<boolean> {
  if (process.platform === 'win32') return false
  const { mode } = await stat(file)
  return (mode & 0o077) !== 0
}

/** Node's own is ten times as fast. */
async function ethersWithFastScrypt() {
  const ethers = await import('ethers')
  ethers.scrypt.register(
    (password, salt, N, r, p, length) =>
      new Promise((resolve, reject) => {
        const options = { N, r, p, maxmem: 256 * N * r }
        nodeScrypt(password, salt, length, options, (error, key) => (error ? reject(error) : resolve(key)))
      }),
  )
  return ethers
}

async function addressIn(json: string): Promise<string | undefined> {
  const { getAddress } = await import('ethers')
  const { address } = JSON.parse(json) as { address?: unknown }
  try {
    return typeof address === 'string' ? getAddress(address) : undefined
  } catch {
    return undefined
  }
}

export const codeOf = (error: unknown): string =>
  typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : 'unknown'
