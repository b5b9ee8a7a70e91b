import { concat, id, toBeHex } from 'ethers'
import { PROXY } from '../transfer-methods/permit2/contracts'

/** Contracts of a few instructions that strangers may put around a call of x402's Permit2 proxy. */
const byte = (value: number): string => toBeHex(value, 1).slice(2)
const PROXY_CODE = `73${PROXY.slice(2).toLowerCase()}`
/** Calls the proxy with as much of the memory as the stack says. */
const CALL_PROXY = `5f5f825f5f${PROXY_CODE}5af1`
const [STOP, REVERT] = ['00', '5f5ffd']

/** Puts what it is called with, from byte `start` on, in the memory, and its length on the stack. */
const takeInput = (start: number): string => `60${byte(start)}36038060${byte(start)}5f37`

/** Does `body`, which leaves the stack as it finds it, as often as the stack says; `before` is the code in front of it. */
const repeated = (before: string, body: string): string => {
  const start = (before.length - 2) / 2
  const place = (at: number) => `61${toBeHex(at, 2).slice(2)}`
  const end = start + 7 + body.length / 2 + 8
  return `${before}5b8015${place(end)}57${body}60019003${place(start)}565b50`
}

/** Calls the proxy with what follows two words, and then does all that it did by failing. */
export const undoing = `0x${takeInput(0)}${CALL_PROXY}${REVERT}`

/** Runs the code of the proxy as its own. */
export const delegating = `0x${takeInput(0)}5f5f825f${PROXY_CODE}5af4${STOP}`

/** Creates a contract by the code that it is called with. */
export const creating = '0x365f5f37365f5ff000'

/** Code of a contract that calls the proxy with `input` in its constructor, which reverts or not. */
export function constructorThatCalls(input: string, isUndone: boolean): string {
  const ending = isUndone ? REVERT : STOP
  const length = 9 + CALL_PROXY.length / 2 + ending.length / 2
  const code = `60${byte(length)}38038060${byte(length)}5f39${CALL_PROXY}${ending}`
  return concat([`0x${code}`, input])
}

const LONG_INPUT = `63${id('PERMIT2()').slice(2, 10)}60e01b5f52`
/**
 * Calls the proxy with what follows two words, then asks it for its Permit2 with 32 KiB as often as the first word says, and
 * says nothing by as many events as the second says.
 */
export const talkative = ((): string => {
  const head = `0x${takeInput(64)}${CALL_PROXY}5050${LONG_INPUT}5f35`
  const asking = repeated(head, `5f5f6180005f5f${PROXY_CODE}5af150`)
  return `${repeated(`${asking}602035`, '5f5fa0')}${STOP}`
})()
