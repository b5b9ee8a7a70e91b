import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { type AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'

type Params = readonly unknown[] | Readonly<Record<string, unknown>>
export type Question = { id: number; method: string; params: Params }
type Reply = { jsonrpc: '2.0'; id: number; result?: unknown; error?: unknown }
/** Asks the honest node, and rejects with `Refused` where it refuses. */
export type Ask = (method: string, params: Params) => Promise<unknown>
/** Notes an answer that is not the honest one, and which transaction's receipt it is, and answers it. */
export type Lie = <Told>(told: Told, transaction?: string) => Told

/** What can be wrong with a node that still has a port. */
export type Fault = {
  /** Instead of any answer. */
  refuses?: (res: ServerResponse) => void
  /** One answer for another. */
  answers?: (question: Question, ask: Ask, lie: Lie) => Promise<unknown>
  /** It is a node of another chain. */
  isElsewhere?: true
}

/** The error that a node answers. */
export class Refused extends Error {
  constructor(readonly error: unknown) {
    super('The node refuses')
  }
}

/** Of a node that cannot be talked to, whatever chain it is of. */
export const silences = {
  'answers nothing': { refuses: () => undefined },
  'breaks the connection': { refuses: (res) => res.destroy() },
  'answers 502 with a page': {
    refuses: (res) => void res.writeHead(502, { 'content-type': 'text/html' }).end('<h1>Bad gateway</h1>'),
  },
} satisfies Record<string, Fault>

/** What a node did while it was faulty: its answers that were not honest, or were none, and whose receipts were not. */
type Told = { answers: number; receipts: Set<string> }

/** A node in front of two others, honest until it is told otherwise; `urls` are asked for with every question. */
export async function startNodeProxy(urls: () => { node: string; elsewhere: string }) {
  let fault: Fault = {}
  let told: Told = { answers: 0, receipts: new Set() }
  const lie: Lie = (answer, transaction) => {
    told.answers++
    if (transaction !== undefined) told.receipts.add(transaction.toLowerCase())
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
    /** From now on; answers what was told under the last fault. */
    become(next: Fault): Told {
      const before = told
      fault = next
      told = { answers: 0, receipts: new Set() }
      return before
    },
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}
