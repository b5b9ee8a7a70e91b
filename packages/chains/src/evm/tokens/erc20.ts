import { id } from 'ethers'
import type { Payment } from '../../family'
import { addressTopic, addressWord, functionCall, uintWord } from '../abi'
import type { Log } from '../rpc-schemas'

export const TRANSFER = id('Transfer(address,address,uint256)')

const balanceOf = functionCall('balanceOf(address)')
/** Asks a token what an address holds of it. */
export const balanceCall = (holder: string): string => balanceOf(addressWord(holder))

export const sameTopics = (some: readonly string[], others: readonly string[]): boolean =>
  some.length === others.length && some.every((topic, i) => topic === others[i])

/** What the contract itself said in a transaction. */
export const eventsOf = (logs: readonly Log[], asset: string): Log[] =>
  logs.filter(({ address }) => address === asset.toLowerCase())

/** The topics, as a filter, of the ERC-20 Transfers from this payer to this recipient. */
export const transferTopics = ({ payer, payTo }: Pick<Payment, 'payer' | 'payTo'>): string[] => [
  TRANSFER,
  addressTopic(payer),
  addressTopic(payTo),
]

/** Whether the event is an ERC-20 Transfer from this payer, whatever its amount and its recipient. */
export const isTransferFrom = (log: Log | undefined, { payer }: Pick<Payment, 'payer'>): boolean =>
  log !== undefined && sameTopics(log.topics.slice(0, 2), [TRANSFER, addressTopic(payer)])

/** Whether the event is an ERC-20 Transfer of exactly this amount from this payer to this recipient. */
export const isTransferOf = (
  log: Log | undefined,
  { payer, payTo, amount }: Pick<Payment, 'payer' | 'payTo' | 'amount'>,
): boolean =>
  log !== undefined &&
  sameTopics(log.topics, transferTopics({ payer, payTo })) &&
  log.data === `0x${uintWord(amount)}`
