import { BaseAccount, ModuleAccount } from 'cosmjs-types/cosmos/auth/v1beta1/auth'
import {
  BaseVestingAccount,
  ContinuousVestingAccount,
  DelayedVestingAccount,
  PeriodicVestingAccount,
  PermanentLockedAccount,
} from 'cosmjs-types/cosmos/vesting/v1beta1/vesting'

type Packed = { typeUrl: string; value: Uint8Array }

/** `publicKey` as the chain has packed it, where the account has signed before. */
export type Account = { address: string; accountNumber: bigint; sequence: bigint; publicKey?: Packed }

type Reader = (value: Uint8Array) => BaseAccount | undefined

/** Those whose first field is a BaseAccount: what follows it says nothing of numbers and keys. */
const wrapping: Reader = (value) => ModuleAccount.decode(value).baseAccount

const vesting =
  (type: { decode(value: Uint8Array): { baseVestingAccount?: BaseVestingAccount } }): Reader =>
  (value) =>
    type.decode(value).baseVestingAccount?.baseAccount

const readers: ReadonlyMap<string, Reader> = new Map([
  [BaseAccount.typeUrl, (value) => BaseAccount.decode(value)],
  [ModuleAccount.typeUrl, wrapping],
  ['/ethermint.types.v1.EthAccount', wrapping],
  ['/injective.types.v1beta1.EthAccount', wrapping],
  [BaseVestingAccount.typeUrl, (value) => BaseVestingAccount.decode(value).baseAccount],
  [ContinuousVestingAccount.typeUrl, vesting(ContinuousVestingAccount)],
  [DelayedVestingAccount.typeUrl, vesting(DelayedVestingAccount)],
  [PeriodicVestingAccount.typeUrl, vesting(PeriodicVestingAccount)],
  [PermanentLockedAccount.typeUrl, vesting(PermanentLockedAccount)],
])

/** Reads an account as the auth module answers it; throws where it is of a type that is not known, or not what it says. */
export function readAccount({ typeUrl, value }: Packed): Account {
  const read = readers.get(typeUrl)
  if (read === undefined) throw new Error(`accounts of the type ${typeUrl.slice(0, 100)} are not known here`)
  const base = read(value)
  if (base === undefined) throw new Error(`an account of the type ${typeUrl} lacks its BaseAccount`)
  const { address, accountNumber, sequence, pubKey: publicKey } = base
  return { address, accountNumber, sequence, ...(publicKey && { publicKey }) }
}
