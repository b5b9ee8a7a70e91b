import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { type AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'

type Params = readonly unknown[] | Readonly<Record<string, unknown>>
export type Question = { id: number; method: string; params: Params }
type Reply = { jsonrpc: '2.0'; id: number; result?: unknown; error?: unknown }
/** Queries the honest node; rejects with `Refused` if it returns an error. */
export type Ask = (method: string, params: Params) => Promise<unknown>
export type Lie = <Answer>(answer: Answer, transaction?: string) => Answer

export type Fault = {
  refuses?: (res: ServerResponse) => void
  answers?: (question: Question, ask: Ask, lie: Lie) => Promise<unknown>
  isElsewhere?: true
}

export class Refused extends Error {
  constructor(readonly error: unknown) {
    super('The node refuses')
  }
}

/** Unavailable nodes, for any chain family. */
export const unavailableNodes = {
  'does not answer': { refuses: () => undefined },
  'breaks the connection': { refuses: (res) => res.destroy() },
  'answers 502 with a page': {
    refuses: (res) => void res.writeHead(502, { 'content-type': 'text/html' }).end('<h1>Bad gateway</h1>'),
  },
} satisfies Record<string, Fault>

/** False or missing answers under one fault, and the transactions whose receipts were false. */
type FalseAnswers = { answers: number; receipts: Set<string> }

/** A proxy in front of two nodes, honest until `become`; `urls` is read for each request. */
export async function startNodeProxy(urls: () => { node: string; elsewhere: string }) {
  let fault: Fault = {}
  let falseAnswers: FalseAnswers = { answers: 0, receipts: new Set() }
  const lie: Lie = (answer, transaction) => {
    falseAnswers.answers++
    if (transaction !== undefined) falseAnswers.receipts.add(transaction.toLowerCase())
    return answer
  }

  async function forward(url: string, question: Question): Promise<Reply> {
    const headers = { 'content-type': 'application/json' }
    const body = JSON.stringify({ jsonrpc: '2.0', ...question })
    return (await (await fetch(url, { method: 'POST', headers, body })).json()) as Reply
  }

  async function reply({ id, method, params }: Question): Promise<Reply> {
    const { node, elsewhere } = urls()
    if (fault.isElsewhere) return lie(await forward(elsewhere, { id, method, params }))
    if (!fault.answers) return forward(node, { id, method, params })
    const ask: Ask = async (asked, of) => {
      const { result, error } = await forward(node, { id, method: asked, params: of })
      if (error !== undefined) throw new Refused(error)
      return result
    }
    try {
      return { jsonrpc: '2.0', id, result: (await fault.answers({ id, method, params }, ask, lie)) ?? null }
    } catch (error) {
      if (error instanceof Refused) return { jsonrpc: '2.0', id, error: error.error }
      throw error
    }
  }

  const server = createServer((req, res) => {
    void (async () => {
      const asked = (await json(req)) as Question | Question[]
      if (fault.refuses) {
        lie(undefined)
        fault.refuses(res)
        return
      }
      const replies = await Promise.all([asked].flat().map(reply))
      res.writeHead(200, { 'content-type': 'application/json' })
      res.end(JSON.stringify(Array.isArray(asked) ? replies : replies[0]))
    })().catch(() => res.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** Switches to a fault; returns the false answers under the one before. */
    become(next: Fault): FalseAnswers {
      const before = falseAnswers
      fault = next
      falseAnswers = { answers: 0, receipts: new Set() }
      return before
    },
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}
