import { BaseAccount, ModuleAccount } from 'cosmjs-types/cosmos/auth/v1beta1/auth'
import {
  BaseVestingAccount,
  ContinuousVestingAccount,
  DelayedVestingAccount,
  PeriodicVestingAccount,
  PermanentLockedAccount,
} from 'cosmjs-types/cosmos/vesting/v1beta1/vesting'

type Packed = { typeUrl: string; value: Uint8Array }

/** `publicKey`, still packed, is set once the account has signed a transaction. */
export type Account = { address: string; accountNumber: bigint; sequence: bigint; publicKey?: Packed }

type Reader = (value: Uint8Array) => BaseAccount | undefined

/** Reads any type whose first field is a BaseAccount; the other fields are not needed. */
const readWrapped: Reader = (value) => ModuleAccount.decode(value).baseAccount

const vesting =
  (type: { decode(value: Uint8Array): { baseVestingAccount?: BaseVestingAccount } }): Reader =>
  (value) =>
    type.decode(value).baseVestingAccount?.baseAccount

const readers: ReadonlyMap<string, Reader> = new Map([
  [BaseAccount.typeUrl, (value) => BaseAccount.decode(value)],
  [ModuleAccount.typeUrl, readWrapped],
  ['/ethermint.types.v1.EthAccount', readWrapped],
  ['/injective.types.v1beta1.EthAccount', readWrapped],
  [BaseVestingAccount.typeUrl, (value) => BaseVestingAccount.decode(value).baseAccount],
  [ContinuousVestingAccount.typeUrl, vesting(ContinuousVestingAccount)],
  [DelayedVestingAccount.typeUrl, vesting(DelayedVestingAccount)],
  [PeriodicVestingAccount.typeUrl, vesting(PeriodicVestingAccount)],
  [PermanentLockedAccount.typeUrl, vesting(PermanentLockedAccount)],
])

/** Throws if the type is unknown or the value does not match it. */
export function readAccount({ typeUrl, value }: Packed): Account {
  const read = readers.get(typeUrl)
  if (read === undefined) throw new Error(`unknown account type ${typeUrl.slice(0, 100)}`)
  const base = read(value)
  if (base === undefined) throw new Error(`an account of the type ${typeUrl} lacks its BaseAccount`)
  const { address, accountNumber, sequence, pubKey: publicKey } = base
  return { address, accountNumber, sequence, ...(publicKey && { publicKey }) }
}
