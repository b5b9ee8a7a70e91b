import { id } from 'ethers'
import type { Payment } from '../../family'
import { addressTopic, addressWord, functionCall, uintWord } from '../abi'
import type { Log } from '../rpc-schemas'

export const TRANSFER = id('Transfer(address,address,uint256)')

const balanceOf = functionCall('balanceOf(address)')
export const balanceCall = (holder: string): string => balanceOf(addressWord(holder))

const allowance = functionCall('allowance(address,address)')
export const allowanceCall = (holder: string, spender: string): string =>
  allowance(addressWord(holder), addressWord(spender))

export const sameTopics = (some: readonly string[], others: readonly string[]): boolean =>
  some.length === others.length && some.every((topic, i) => topic === others[i])

export const eventsOf = (logs: readonly Log[], asset: string): Log[] =>
  logs.filter(({ address }) => address === asset.toLowerCase())

export const transferTopics = ({ payer, payTo }: Pick<Payment, 'payer' | 'payTo'>): string[] => [
  TRANSFER,
  addressTopic(payer),
  addressTopic(payTo),
]

/** Any amount and any recipient. */
export const isTransferFrom = (log: Log | undefined, { payer }: Pick<Payment, 'payer'>): boolean =>
  log !== undefined && sameTopics(log.topics.slice(0, 2), [TRANSFER, addressTopic(payer)])

export const isTransferOf = (
  log: Log | undefined,
  { payer, payTo, amount }: Pick<Payment, 'payer' | 'payTo' | 'amount'>,
): boolean =>
  log !== undefined &&
  sameTopics(log.topics, transferTopics({ payer, payTo })) &&
  log.data === `0x${uintWord(amount)}`

/**
 * The place of a transfer among those of the payer in one transaction. Events of other contracts and accounts may be missing: the
 * place does not depend on them.
 */
export function placeOfTransfer(
  logs: readonly Log[],
  asset: string,
  payment: Pick<Payment, 'payer'>,
  transfer: Log | undefined,
): string | undefined {
  const place = eventsOf(logs, asset)
    .filter((log) => isTransferFrom(log, payment))
    .findIndex((log) => log === transfer)
  return place < 0 ? undefined : String(place)
}
