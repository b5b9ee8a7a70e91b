import { type OfflineAminoSigner } from '@cosmjs/amino'
import { type OfflineDirectSigner } from '@cosmjs/proto-signing'
import { UsageError } from '../exit-codes'
import { type Key } from './key'

const PREFIX = /^[a-z][a-z0-9]{0,30}$/

/** Signs direct and amino, at `m/44'/118'/0'/0/0` of a mnemonic. @throws UsageError */
export async function createCosmosSigner(
  key: Key,
  prefix: string,
): Promise<{ address: string; signer: OfflineAminoSigner & OfflineDirectSigner }> {
  if (!PREFIX.test(prefix))
    throw new UsageError(`--cosmos-prefix: ${prefix} is not a prefix of addresses, such as cosmos`)
  const [{ Secp256k1HdWallet, Secp256k1Wallet }, { DirectSecp256k1HdWallet, DirectSecp256k1Wallet }] =
    await Promise.all([import('@cosmjs/amino'), import('@cosmjs/proto-signing')])
  const [amino, direct] = await (
    key.kind === 'mnemonic'
      ? Promise.all([
          Secp256k1HdWallet.fromMnemonic(key.phrase, { prefix }),
          DirectSecp256k1HdWallet.fromMnemonic(key.phrase, { prefix }),
        ])
      : Promise.all([
          Secp256k1Wallet.fromKey(bytesOf(key.privateKey), prefix),
          DirectSecp256k1Wallet.fromKey(bytesOf(key.privateKey), prefix),
        ])
  ).catch(() => {
    throw new UsageError('No Cosmos wallet can be made from this key')
  })
  const [account] = await direct.getAccounts()
  if (!account) throw new UsageError('No Cosmos wallet can be made from this key')
  return {
    address: account.address,
    signer: {
      getAccounts: () => direct.getAccounts(),
      signDirect: (...parameters) => direct.signDirect(...parameters),
      signAmino: (...parameters) => amino.signAmino(...parameters),
    },
  }
}

const bytesOf = (privateKey: string) => new Uint8Array(Buffer.from(privateKey.replace(/^0x/, ''), 'hex'))
