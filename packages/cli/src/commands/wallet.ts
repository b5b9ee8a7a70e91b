import { type Command } from 'commander'
import { UsageError } from '../exit-codes'
import { facts } from '../output/table'
import { askSecret } from '../prompts'
import { type Context, type Run } from '../run-command'
import { evmAccount, parseMnemonic, parsePrivateKey, type Key } from '../wallets/key'
import { writeKeystore } from '../wallets/keystore'
import { openWallet } from '../wallets/open-wallet'
import { readPassword } from '../wallets/password'
import { describe } from './help'

export const walletCommand = (run: Run): Command =>
  describe(
    'wallet',
    'Encrypted keystore files, and the address of the wallet',
    'tollgate wallet new wallet.json',
  )
    .addCommand(newCommand(run))
    .addCommand(importCommand(run))
    .addCommand(addressCommand(run))

const newCommand = (run: Run) =>
  describe(
    'new',
    'Make a new wallet in an encrypted keystore file. The file and its password are the only copy of the key',
    'tollgate wallet new wallet.json',
    'TOLLGATE_PASSWORD=… tollgate wallet new wallet.json --json',
  )
    .argument('<file>', 'which must not exist')
    .action(
      run<unknown, [file: string]>(async (context) => {
        const { Wallet } = await import('ethers')
        const phrase = Wallet.createRandom().mnemonic?.phrase
        if (phrase === undefined) throw new Error('There is no phrase')
        await save(context, await parseMnemonic(phrase, context.secrets))
      }),
    )

const importCommand = (run: Run) =>
  describe(
    'import',
    'Encrypt a key into a keystore file: PRIVATE_KEY, else MNEMONIC, else one that is typed without echo',
    'tollgate wallet import wallet.json',
  )
    .argument('<file>', 'which must not exist')
    .action(run<unknown, [file: string]>(async (context) => save(context, await readKey(context))))

const addressCommand = (run: Run) =>
  describe(
    'address',
    'Show the address of the wallet, without a gateway',
    'tollgate wallet address --keystore wallet.json',
    'MNEMONIC=… tollgate wallet address --cosmos-prefix osmo',
  ).action(
    run(async (context) => {
      const { address, ecosystem, source } = await openWallet(context.options, context)
      context.output.result({ address, ecosystem, source }, () => address)
    }),
  )

async function readKey({ terminal, secrets }: Pick<Context, 'terminal' | 'secrets'>): Promise<Key> {
  const { PRIVATE_KEY, MNEMONIC } = terminal.environment
  if (PRIVATE_KEY) return parsePrivateKey(PRIVATE_KEY, secrets)
  if (MNEMONIC) return parseMnemonic(MNEMONIC, secrets)
  const typed = await askSecret(terminal, 'Private key or mnemonic', 'PRIVATE_KEY or MNEMONIC')
  return typed.trim().includes(' ') ? parseMnemonic(typed, secrets) : parsePrivateKey(typed, secrets)
}

async function save(context: Context<unknown, [file: string]>, key: Key): Promise<void> {
  const { output, options } = context
  const [file] = context.words
  await evmAccount(key)
  const wish = { question: `New password of ${file}`, passwordFile: options.passwordFile, isNew: true }
  const password = await readPassword({ ...wish, variable: 'TOLLGATE_PASSWORD' }, context)
  if (password.length < SHORTEST_PASSWORD)
    throw new UsageError(`The password has less than ${SHORTEST_PASSWORD} characters`)
  const done = output.progress('Encrypting')
  const address = await writeKeystore(file, key, password).finally(done)
  output.result({ address, keystore: file }, (colors) =>
    facts(colors, [
      ['Address', address],
      ['Keystore', file],
    ]),
  )
}

const SHORTEST_PASSWORD = 8
