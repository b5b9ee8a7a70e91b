import { moduleAddress, readAddress } from './address'
import { ensureAccount } from './accounts'
import { add, areValid, type Coin, type Coins, coinsText } from './coins'
import { type Context, event } from './context'
import { sdkError } from './errors'
import { type Store } from './store'

export const FEE_COLLECTOR = 'fee_collector'
const COLLECTOR_ADDRESS = moduleAddress(FEE_COLLECTOR)

export type Party = {
  address: string
  coins: Coin[]
}

const keyOf = (address: string, denom: string) => `balance/${address}/${denom}`

export const balanceOf = (store: Store, address: string, denom: string) =>
  BigInt(store.get(keyOf(address, denom)) ?? 0)

/** Sorted by denom. */
export function balancesOf(store: Store, address: string): Coin[] {
  const prefix = keyOf(address, '')
  const denoms = store.keysOf(prefix).map((key) => key.slice(prefix.length))
  return denoms.sort().map((denom) => ({ denom, amount: balanceOf(store, address, denom) }))
}

export const supplyOf = (store: Store, denom: string) => BigInt(store.get(`supply/${denom}`) ?? 0)

/** Sorted by denom. */
export function totalSupply(store: Store): Coin[] {
  const denoms = store.keysOf('supply/').map((key) => key.slice('supply/'.length))
  return denoms.sort().map((denom) => ({ denom, amount: supplyOf(store, denom) }))
}

/** The denom's own setting; undefined if it has none, which allows transfers. */
export function sendEnabledOf(store: Store, denom: string): boolean | undefined {
  const text = store.get(`send-enabled/${denom}`)
  return text === undefined ? undefined : text === 'true'
}

export const setSendEnabled = (store: Store, denom: string, isEnabled: boolean) =>
  store.set(`send-enabled/${denom}`, String(isEnabled))

/** Creates coins: for `dev_fund`, not for a message. */
export function mint(context: Context, address: string, coins: Coins) {
  const { store } = context
  for (const { denom, amount } of coins) store.set(`supply/${denom}`, `${supplyOf(store, denom) + amount}`)
  receive(context, address, coins)
  ensureAccount(store, address)
}

/** `MsgSend`. */
export function send(context: Context, from: string, to: string, coins: Coins) {
  if (!areValid(coins) || coins.length === 0) throw sdkError('invalid coins', coinsText(coins))
  checkSendable(context, coins)
  checkMayReceive(to)
  transfer(context, from, to, coins)
}

/** `MsgMultiSend`: one sender, many recipients. */
export function multiSend(context: Context, inputs: Party[], outputs: Party[]) {
  const [input, ...others] = inputs
  if (!input) throw sdkError('no inputs to send transaction')
  if (others.length > 0) throw sdkError('multiple senders not allowed')
  if (outputs.length === 0) throw sdkError('no outputs to send transaction')
  const parties = [input, ...outputs].map(({ address, coins }) => ({ address: readAddress(address), coins }))
  for (const { coins } of parties)
    if (!areValid(coins) || coins.length === 0) throw sdkError('invalid coins', coinsText(coins))
  const [from = '', ...receivers] = parties.map(({ address }) => address)
  if (coinsText(add(...outputs.map(({ coins }) => coins))) !== coinsText(input.coins))
    throw sdkError('sum inputs != sum outputs')
  checkSendable(context, input.coins)
  receivers.forEach(checkMayReceive)

  context.events.push(event('message', { sender: from }))
  spend(context, from, input.coins)
  outputs.forEach(({ coins }, i) => {
    const to = receivers[i] ?? ''
    ensureAccount(context.store, to)
    receive(context, to, coins)
    context.events.push(event('transfer', { recipient: to, sender: from, amount: coinsText(coins) }))
  })
}

export const payFee = (context: Context, from: string, coins: Coins) =>
  transfer(context, from, COLLECTOR_ADDRESS, coins)

function transfer(context: Context, from: string, to: string, coins: Coins) {
  spend(context, from, coins)
  receive(context, to, coins)
  ensureAccount(context.store, to)
  context.events.push(
    event('transfer', { recipient: to, sender: from, amount: coinsText(coins) }),
    event('message', { sender: from }),
  )
}

function spend({ store, events }: Context, from: string, coins: Coins) {
  for (const { denom, amount } of coins) {
    const held = balanceOf(store, from, denom)
    if (held < amount)
      throw sdkError(
        'insufficient funds',
        `spendable balance ${held}${denom} is smaller than ${amount}${denom}`,
      )
    // A zero balance is not stored.
    if (held === amount) store.delete(keyOf(from, denom))
    else store.set(keyOf(from, denom), `${held - amount}`)
  }
  events.push(event('coin_spent', { spender: from, amount: coinsText(coins) }))
}

function receive({ store, events }: Context, to: string, coins: Coins) {
  for (const { denom, amount } of coins)
    store.set(keyOf(to, denom), `${balanceOf(store, to, denom) + amount}`)
  events.push(event('coin_received', { receiver: to, amount: coinsText(coins) }))
}

function checkSendable({ store }: Context, coins: Coins) {
  for (const { denom } of coins)
    if (sendEnabledOf(store, denom) === false)
      throw sdkError('send transactions are disabled', `${denom} transfers are currently disabled`)
}

function checkMayReceive(address: string) {
  if (address === COLLECTOR_ADDRESS)
    throw sdkError('unauthorized', `${address} is not allowed to receive funds`)
}
