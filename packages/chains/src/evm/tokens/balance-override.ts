import { MethodMissing } from '../../json-rpc/sender'
import { keccak256 } from '../../keccak'
import { z } from 'zod'
import { addressWord, answeredWord, bytesWord, uintWord } from '../abi'
import { ZERO_ADDRESS } from '../address'
import { Data, Hash, hex, quantity } from '../rpc-schemas'
import { balanceCall } from './erc20'
import type { Rpc } from '../rpc'
import type { StateOverrides } from './simulation'
import { READ_GAS } from './token'

type Word = { address: string; slot: string; value: bigint }

/** Bit offsets of a balance in its word: alone, or after a flag, a `bool`, half a word or an address. */
const USUAL_SHIFTS = [0n, 8n, 64n, 96n, 128n, 160n]
/** All offsets of whole bytes that leave ten bytes for the balance; the usual ones first. */
const SHIFTS = [...new Set([...USUAL_SHIFTS, ...Array.from({ length: 23 }, (_, i) => 8n * BigInt(i))])]
/** A call with all computed slots at one shift has about 18 kB. */
const SHIFTS_AT_ONCE = 6

/** The mapping of balances is one of this many state variables, in the order of their declaration. */
const MAPPINGS = 64
/** The ERC-7201 namespace of OpenZeppelin's upgradeable ERC20, whose first member is the balances. */
const NAMESPACE = 0x52c63247e1f47db19d5ce0460030c497f067ca4cebf71ba98eeadabe20bace00n

/** Tokens read only a few: their proxy's implementation, some flags, the balance. */
const MAX_WORDS = 32
/** One word at one shift each: all shifts of eight words, or the usual shifts of 32. */
const MAX_TRIES = 192
const TRIES_AT_ONCE = 20

type Question = { asset: string; holder: string; amount: bigint; from: string }

/**
 * State overrides under which the token's `balanceOf` returns exactly `amount` for `holder`, an address that it has never
 * seen. Tries the slots in which compilers place a mapping's entries, then the slots that the node reports `balanceOf` to
 * read. Undefined if no slot holds the balance. Rejects with `ChainUnavailable` if no node runs the calls, or if no computed
 * slot fits and the node failed to report the slots that are read.
 */
export async function overrideBalance(rpc: Rpc, question: Question): Promise<StateOverrides | undefined> {
  const computed = await tryTogether(rpc, question, computedSlots(question.holder))
  if (computed !== undefined) return computed
  const read = await slotsRead(rpc, question)
  const found = await tryOneByOne(rpc, question, read.words)
  if (found === undefined && read.failure !== undefined) throw read.failure
  return found
}

/** The slots of `holder` in a mapping: Solidity and Vyper hash the same two words in opposite order. */
function computedSlots(holder: string): string[] {
  const key = addressWord(holder)
  const hash = (words: string): string => keccak256(Buffer.from(words, 'hex'))
  const mappings = Array.from({ length: MAPPINGS }, (_, i) => uintWord(i))
  return [
    ...mappings.flatMap((mapping) => [hash(key + mapping), hash(mapping + key)]),
    hash(key + uintWord(NAMESPACE)),
  ]
}

const storageOf = (words: readonly Word[], shift: bigint): StateOverrides => {
  const storage: Record<string, { stateDiff: Record<string, string> }> = {}
  for (const { address, slot, value } of words) {
    const diff = (storage[address] ??= { stateDiff: {} }).stateDiff
    diff[slot] = `0x${uintWord(BigInt.asUintN(256, value << shift))}`
  }
  return storage
}

/** `balanceOf` under each override; undefined if it fails or returns anything but a word. */
const balancesIn = (rpc: Rpc, { asset, holder, from }: Question, storages: readonly StateOverrides[]) =>
  Promise.all(
    storages.map(async (storage) => {
      const call = { from, to: asset, data: balanceCall(holder), gas: quantity(READ_GAS) }
      return answeredWord(await rpc.run(Data, 'eth_call', [call, 'latest', storage]))
    }),
  )

const inParts = <T>(list: readonly T[], size: number): T[][] =>
  Array.from({ length: Math.ceil(list.length / size) }, (_, i) => list.slice(i * size, (i + 1) * size))

async function firstThatShows(rpc: Rpc, question: Question, storages: readonly StateOverrides[]) {
  const balances = await balancesIn(rpc, question, storages)
  return storages.find((_, i) => balances[i] === question.amount)
}

/** Sets all slots at once, each to a different amount, so that the balance identifies the slot. Then checks that slot alone. */
async function tryTogether(rpc: Rpc, question: Question, slots: readonly string[]) {
  const { asset: address, amount } = question
  const words = slots.map((slot, i): Word => ({ address, slot, value: amount + BigInt(i) }))
  for (const shifts of inParts(SHIFTS, SHIFTS_AT_ONCE)) {
    const together = shifts.map((shift) => storageOf(words, shift))
    const balances = await balancesIn(rpc, question, together)
    const candidates = shifts.flatMap((shift, i) => {
      const word = words.find(({ value }) => value === balances[i])
      return word === undefined ? [] : [storageOf([{ ...word, value: amount }], shift)]
    })
    const found = await firstThatShows(rpc, question, candidates)
    if (found !== undefined) return found
  }
  return undefined
}

/** One at a time: words with another purpose, such as a proxy's implementation, must keep their values. */
async function tryOneByOne(rpc: Rpc, question: Question, words: readonly Omit<Word, 'value'>[]) {
  const alone = SHIFTS.flatMap((shift) =>
    words.map((word) => storageOf([{ ...word, value: question.amount }], shift)),
  )
  for (const tries of inParts(alone.slice(0, MAX_TRIES), TRIES_AT_ONCE)) {
    const found = await firstThatShows(rpc, question, tries)
    if (found !== undefined) return found
  }
  return undefined
}

const AccessList = z.object({
  accessList: z.array(z.object({ address: hex(/^0x[0-9a-f]{40}$/i), storageKeys: z.array(Hash) })),
})

/** The gas of creating a contract, in addition to its call. */
const CREATION_GAS = 100_000n

/**
 * The storage slots that `balanceOf` reads, as far as the node reports them (`eth_createAccessList`). The call is made from
 * the creation code of a contract, because some nodes omit what the transaction's own recipient reads. It is made from two
 * senders, the zero address and the signer, because some nodes require a sender that can pay the fees.
 */
async function slotsRead(rpc: Rpc, { asset, holder, from }: Question) {
  const data = creationThatCalls(asset, balanceCall(holder))
  const gas = quantity(READ_GAS + CREATION_GAS)
  const lists = await Promise.allSettled(
    [...new Set([ZERO_ADDRESS, from])].map((asker) =>
      rpc.run(AccessList, 'eth_createAccessList', [{ from: asker, data, gas }, 'latest']),
    ),
  )
  const entries = lists.flatMap((list) =>
    list.status === 'fulfilled' && 'value' in list.value ? list.value.value.accessList : [],
  )
  const words = new Map(
    entries.flatMap(({ address, storageKeys }) =>
      storageKeys.map((slot) => [address + slot, { address, slot }] as const),
    ),
  )
  return {
    words: [...words.values()].slice(0, MAX_WORDS),
    failure: words.size > 0 ? undefined : failureOf(lists),
  }
}

/** A node without `eth_createAccessList` is not a failure: then only the computed slots count. */
function failureOf(lists: readonly PromiseSettledResult<unknown>[]): Error | undefined {
  const failures = lists.flatMap((list) => (list.status === 'rejected' ? [list.reason as Error] : []))
  return failures.find((failure) => !(failure instanceof MethodMissing))
}

/** Creation code that STATICCALLs `to` with `data` of 36 bytes, and stops. */
function creationThatCalls(to: string, data: string): string {
  const bytes = bytesWord(data)
  const store = (word: string, at: string) => `7f${word.padEnd(64, '0')}60${at}52`
  const call = `600060006024600073${bytesWord(to)}5afa00`
  return `0x${store(bytes.slice(0, 64), '00')}${store(bytes.slice(64), '20')}${call}`.toLowerCase()
}
