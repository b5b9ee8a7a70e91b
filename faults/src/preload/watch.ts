import { subscribe } from 'node:diagnostics_channel'
import { ServerResponse } from 'node:http'
import { createRequire } from 'node:module'

/** The result of several statements in one message is a list without these members. */
type Result = { command?: string; rowCount?: number | null; rows?: Record<string, unknown>[] }
type Callback = (error: unknown, result: Result) => void
type Session = { processID: number | null }
export type Statement = { text: string; values: readonly unknown[] }
type Query = (this: Session, ...args: unknown[]) => unknown

/**
 * Statements that this process sends with `pg`. `sent` is called before the statement is sent; `committed`
 * when it is durable, before the sender has the result, if it changed or found anything; `locked` with the
 * session that got an advisory lock.
 */
export function watchStatements(on: {
  sent: (statement: Statement) => void
  committed: (statement: Statement) => void
  locked: (session: number) => void
}) {
  // The same module instance as the database package's.
  const pg = createRequire(require.resolve('@tollgate/database'))('pg') as {
    Client: { prototype: { query: Query } }
  }
  const { prototype } = pg.Client
  const query = prototype.query
  const open = new WeakMap<Session, Statement[]>()

  prototype.query = function watched(...args) {
    const [config] = args
    const given = typeof config === 'string' ? { text: config } : (config as Partial<Statement> | undefined)
    const { text, values = args.find(Array.isArray) ?? [] } = given ?? {}
    if (text === undefined) return query.apply(this, args)
    const statement = { text, values }
    on.sent(statement)
    const done = (result: Result) => {
      const { rows = [] } = result
      if (/^\s*begin/i.test(text)) open.set(this, [])
      else if (/^\s*(commit|rollback)/i.test(text)) {
        const held = open.get(this) ?? []
        open.delete(this)
        if (result.command === 'COMMIT') for (const one of held) on.committed(one)
      } else if ((result.rowCount ?? 0) > 0 || rows.length > 0) {
        const held = open.get(this)
        if (held) held.push(statement)
        else on.committed(statement)
        const isLocked = /pg_try_advisory_lock\(/.test(text) && Object.values(rows[0] ?? {}).includes(true)
        if (isLocked && this.processID !== null) on.locked(this.processID)
      }
    }
    const at = args.findIndex((arg) => typeof arg === 'function')
    if (at < 0) {
      const asked = query.apply(this, args)
      return asked instanceof Promise ? asked.then((result: Result) => (done(result), result)) : asked
    }
    const callback = args[at] as Callback
    const watching: Callback = (error, result) => {
      if (!error) done(result)
      callback(error, result)
    }
    return query.apply(this, args.with(at, watching))
  }
}

type Message = { id?: unknown; method?: unknown; params?: unknown; result?: unknown }

export function watchQuestions(
  answered: (question: { method: string; params: unknown; result: unknown }) => void,
) {
  const sent = new WeakMap<object, Buffer[]>()
  const received = new WeakMap<object, Buffer[]>()
  const keep = (of: WeakMap<object, Buffer[]>) => (message: unknown) => {
    const { request, chunk } = message as { request: object; chunk: Buffer | string }
    of.set(request, [...(of.get(request) ?? []), Buffer.from(chunk as Buffer)])
  }
  subscribe('undici:request:bodyChunkSent', keep(sent))
  subscribe('undici:request:bodyChunkReceived', keep(received))
  subscribe('undici:request:trailers', (message) => {
    const { request } = message as { request: object }
    const questions = messagesIn(sent.get(request))
    for (const { id, result } of messagesIn(received.get(request))) {
      const { method, params } = questions.find((question) => question.id === id) ?? {}
      if (typeof method === 'string') answered({ method, params, result })
    }
  })
}

function messagesIn(chunks: Buffer[] = []): Message[] {
  try {
    const parsed = JSON.parse(Buffer.concat(chunks).toString()) as Message | Message[] | null
    return [parsed ?? []].flat()
  } catch {
    return []
  }
}

/** HTTP responses of this process, after the last byte was passed to the operating system. */
export function watchAnswers(answered: (answer: { path: string; body: string }) => void) {
  const { prototype } = ServerResponse
  const end = prototype.end as (this: ServerResponse, ...args: unknown[]) => ServerResponse
  prototype.end = function watched(this: ServerResponse, ...args: unknown[]) {
    const [body] = args
    const { originalUrl, url = '' } = this.req as { originalUrl?: string; url?: string }
    if (typeof body === 'string' || Buffer.isBuffer(body))
      this.once('finish', () => answered({ path: originalUrl ?? url, body: body.toString() }))
    return end.apply(this, args)
  } as typeof prototype.end
}
