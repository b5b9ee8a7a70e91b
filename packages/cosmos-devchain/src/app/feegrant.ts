import { Grant } from 'cosmjs-types/cosmos/feegrant/v1beta1/feegrant'
import { Any } from 'cosmjs-types/google/protobuf/any'
import { ensureAccount } from './accounts'
import { readAddress } from './address'
import { accept, type Allowance, expirationOf, readAllowance, validate, writeAllowance } from './allowance'
import { type Coins } from './coins'
import { type Context, event } from './context'
import { sdkError } from './errors'
import { type Store } from './store'

const keyOf = (granter: string, grantee: string) => `allowance/${grantee}/${granter}`

export function allowanceOf(store: Store, granter: string, grantee: string): Allowance | undefined {
  const text = store.get(keyOf(granter, grantee))
  return text === undefined ? undefined : readAllowance(Any.decode(Buffer.from(text, 'base64')))
}

/** Ordered by key. */
export function grantsBy(store: Store, granter: string): Grant[] {
  const keys = store.keysOf('allowance/').filter((key) => partiesOf(key).granter === granter)
  return keys.sort().flatMap((key) => {
    const { grantee } = partiesOf(key)
    const allowance = allowanceOf(store, granter, grantee)
    return allowance ? [Grant.fromPartial({ granter, grantee, allowance: writeAllowance(allowance) })] : []
  })
}

/** `MsgGrantAllowance`. */
export function grantAllowance(
  context: Context,
  granterText: string,
  granteeText: string,
  allowance: Allowance | undefined,
) {
  if (granterText.toLowerCase() === granteeText.toLowerCase())
    throw sdkError('invalid address', 'cannot self-grant fee authorization')
  const grantee = readAddress(granteeText)
  const granter = readAddress(granterText)
  const { store, block } = context
  if (store.get(keyOf(granter, grantee)) !== undefined)
    throw sdkError('invalid request', 'fee allowance already exists')
  if (!allowance) throw sdkError('no allowance', 'failed to get allowance')
  validate(allowance)
  if ((expirationOf(allowance) ?? Infinity) < block.time)
    throw sdkError('invalid request', 'expiration is before current block time')
  ensureAccount(store, grantee)
  write(store, granter, grantee, allowance)
  context.events.push(event('set_feegrant', { granter, grantee }))
}

/** `MsgRevokeAllowance`. */
export function revokeAllowance(context: Context, granterText: string, granteeText: string) {
  if (granterText === granteeText) throw sdkError('invalid address', 'addresses must be different')
  remove(context, readAddress(granterText), readAddress(granteeText))
}

/** Deducts the fee from the allowance; throws if it does not cover the fee. An allowance that is used up is removed. */
export function useGrantedFees(
  context: Context,
  granter: string,
  grantee: string,
  fee: Coins,
  messages: readonly { typeUrl: string }[],
) {
  const { store, events } = context
  const allowance = allowanceOf(store, granter, grantee)
  if (!allowance) throw sdkError('not found', 'fee-grant not found')
  const left = accept(context, allowance, fee, messages)
  if (!left) remove(context, granter, grantee)
  events.push(event('use_feegrant', { granter, grantee }))
  if (!left) return
  write(store, granter, grantee, left)
  events.push(event('update_feegrant', { granter, grantee }))
}

/** Removes the expired allowances at the end of each block. */
export function removeExpired({ store, block }: Context) {
  for (const key of store.keysOf('allowance/')) {
    const { granter, grantee } = partiesOf(key)
    const allowance = allowanceOf(store, granter, grantee)
    const expiration = allowance && expirationOf(allowance)
    if (expiration !== undefined && expiration <= block.time) store.delete(key)
  }
}

function write(store: Store, granter: string, grantee: string, allowance: Allowance) {
  const bytes = Any.encode(writeAllowance(allowance)).finish()
  store.set(keyOf(granter, grantee), Buffer.from(bytes).toString('base64'))
}

function remove({ store, events }: Context, granter: string, grantee: string) {
  if (store.get(keyOf(granter, grantee)) === undefined) throw sdkError('not found', 'fee-grant not found')
  store.delete(keyOf(granter, grantee))
  events.push(event('revoke_feegrant', { granter, grantee }))
}

function partiesOf(key: string) {
  const [, grantee = '', granter = ''] = key.split('/')
  return { granter, grantee }
}
