import { type Tollgate } from '../tollgate.js'
import { answersOf, type Answer } from './answers.js'
import { parseEvmChain, type EvmChain } from './chain.js'

/** What the adapters use of a `Tollgate`. */
export type Sender = Pick<Tollgate, 'send'>

export type Call = { method: string; params?: unknown }

export type BatchOptions = {
  /** The most calls in one request. Default: 100. */
  batchSize?: number | undefined
  /** How long a call waits for others, in milliseconds. Default: 0, the calls of one tick. */
  wait?: number | undefined
}

type Waiting = { call: Call; resolve(answer: Answer): void; reject(error: unknown): void }

/** Sends calls to one chain; with `batch`, those of one moment in one request. An error of the node is an answer. */
export function createCaller(tollgate: Sender, chain: string, batch?: BatchOptions) {
  let lastId = 0
  const requestOf = ({ method, params }: Call) => ({
    jsonrpc: '2.0',
    id: ++lastId,
    method,
    ...(params === undefined ? {} : { params }),
  })
  const sendOne = async (call: Call): Promise<Answer> => {
    const request = requestOf(call)
    const [answer] = answersOf(request, await tollgate.send(chain, request))
    return answer as Answer
  }
  if (!batch) return sendOne

  const { batchSize = 100, wait = 0 } = batch
  let waiting: Waiting[] = []
  let timer: ReturnType<typeof setTimeout> | undefined

  async function flush() {
    clearTimeout(timer)
    timer = undefined
    const entries = waiting
    waiting = []
    try {
      const [only, ...others] = entries
      if (only && others.length === 0) {
        only.resolve(await sendOne(only.call))
        return
      }
      const requests = entries.map(({ call }) => requestOf(call))
      const answers = answersOf(requests, await tollgate.send(chain, requests))
      for (const [index, { resolve }] of entries.entries()) resolve(answers[index] as Answer)
    } catch (error) {
      for (const { reject } of entries) reject(error)
    }
  }

  return (call: Call) =>
    new Promise<Answer>((resolve, reject) => {
      waiting.push({ call, resolve, reject })
      if (waiting.length >= batchSize) void flush()
      else timer ??= setTimeout(() => void flush(), wait)
    })
}

/** A caller that asks for the chain's id at most once, and never if `chain` names it. */
export function createEvmCaller(tollgate: Sender, chain: EvmChain, batch?: BatchOptions) {
  const { name, id } = parseEvmChain(chain)
  const call = createCaller(tollgate, name, batch)
  let chainId = id === undefined ? undefined : `0x${id.toString(16)}`
  let asked: Promise<Answer> | undefined

  async function askChainId(): Promise<Answer> {
    asked ??= call({ method: 'eth_chainId', params: [] }).finally(() => (asked = undefined))
    const answer = await asked
    if ('result' in answer) chainId = String(answer.result)
    return answer
  }

  return {
    name,
    /** Undefined for a chain given by name that was not asked yet. */
    chainId: () => chainId,
    async call(asked: Call): Promise<Answer> {
      const { method } = asked
      if (method !== 'eth_chainId' && method !== 'net_version') return call(asked)
      const answer = chainId === undefined ? await askChainId() : { result: chainId }
      if (method === 'eth_chainId' || 'error' in answer) return answer
      return { result: BigInt(String(answer.result)).toString() }
    },
  }
}
