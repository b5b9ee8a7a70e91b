import { TollgateError, type WalletInput } from '@tollgate/wallet'
import { UsageError } from '../exit-codes'
import { once } from '../once'
import { type Output } from '../output/output'
import { type Secrets, type Terminal } from '../terminal'
import { createCosmosSigner } from './cosmos-signer'
import { evmAccount, parseMnemonic, parsePrivateKey, type Key } from './key'
import { decryptKeystore, isReadableForOthers, readKeystore, type Keystore } from './keystore'
import { readPassword } from './password'

export type WalletOptions = {
  keystore?: string
  passwordFile?: string
  cosmos?: boolean
  /** Of the address; makes a Cosmos wallet by itself. */
  cosmosPrefix?: string
}

export type OpenWallet = {
  ecosystem: 'evm' | 'cosmos'
  address: string
  /** For `createTollgate`. */
  signer: WalletInput
  /** Where the key comes from, in words. */
  source: string
  /** Opens its keystore, which is else opened for the first signature. */
  unlock(): Promise<unknown>
}

type Parts = { terminal: Terminal; output: Output; secrets: Secrets }

const DEFAULT_PREFIX = 'cosmos'

const NO_WALLET = 'No wallet: give --keystore FILE (TOLLGATE_KEYSTORE), PRIVATE_KEY or MNEMONIC'

/** @throws UsageError */
export async function openWallet(options: WalletOptions, parts: Parts): Promise<OpenWallet> {
  const { environment } = parts.terminal
  const { keystore: file } = options
  const prefix = options.cosmosPrefix ?? (options.cosmos ? DEFAULT_PREFIX : undefined)
  if (file !== undefined) {
    const keystore = await readKeystore(file)
    if (await isReadableForOthers(file)) parts.output.warn(`others may read ${file}; run: chmod 600 ${file}`)
    const unlock = once(() => unlockKeystore(keystore, options, parts))
    const { address } = keystore
    const source = `keystore ${file}`
    if (prefix === undefined && address !== undefined)
      return { ecosystem: 'evm', address, signer: lazySigner(address, unlock), source, unlock }
    return walletOf(await unlock(), prefix, source)
  }
  for (const [name, parse] of [
    ['PRIVATE_KEY', parsePrivateKey],
    ['MNEMONIC', parseMnemonic],
  ] as const) {
    const text = environment[name]
    if (text) return walletOf(await parse(text, parts.secrets), prefix, name)
  }
  throw new UsageError(NO_WALLET)
}

async function walletOf(key: Key, prefix: string | undefined, source: string): Promise<OpenWallet> {
  const unlock = () => Promise.resolve()
  if (prefix === undefined) {
    const signer = await evmAccount(key)
    return { ecosystem: 'evm', address: signer.address, signer, source, unlock }
  }
  return { ecosystem: 'cosmos', ...(await createCosmosSigner(key, prefix)), source, unlock }
}

async function unlockKeystore(
  keystore: Keystore,
  { passwordFile }: WalletOptions,
  parts: Parts,
): Promise<Key> {
  const question = `Password of ${keystore.file}`
  const wish = { question, passwordFile, variable: 'TOLLGATE_PASSWORD', isNew: false } as const
  const password = await readPassword(wish, parts).catch((error: unknown) => {
    throw error instanceof UsageError ? asArgument(error) : error
  })
  const done = parts.output.progress('Opening the keystore')
  try {
    return await decryptKeystore(keystore, password, parts.secrets)
  } finally {
    done()
  }
}

/** For `createTollgate`, which takes other errors of a signer for a refusal of its user. */
const asArgument = (cause: UsageError) => new TollgateError('INVALID_ARGUMENT', cause.message, { cause })

/** The parts of an ethers signer that are used: the keystore is opened for the first signature. */
function lazySigner(address: string, unlock: () => Promise<Key>) {
  const account = async () => evmAccount(await unlock())
  type Account = Awaited<ReturnType<typeof account>>
  return {
    getAddress: () => Promise.resolve(address),
    signMessage: async (...parameters: Parameters<Account['signMessage']>) =>
      (await account()).signMessage(...parameters),
    signTypedData: async (...parameters: Parameters<Account['signTypedData']>) =>
      (await account()).signTypedData(...parameters),
  }
}
