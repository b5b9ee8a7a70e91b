import { PayerAccountRequest, PayerNodeAnswer, type PayerAccountAnswer } from '@tollgate/protocol'
import { addressKey, ApiError, parse } from '@tollgate/service'
import { type Request, type Response } from 'express'
import { type Catalog, type Route } from '../catalog/catalog'
import { HttpCallResponse } from '../rpc/http-call-response'
import { type Forward } from '../rpc/upstream/forward'
import { type UpstreamRequest } from '../rpc/upstream/upstream-request'

/** Bounds what free requests can take of the connections to the nodes. */
const MAX_CONCURRENT = 32

/**
 * What the payer of a Cosmos payment reads of its chain, for pages that may connect to this gateway only. Free of charge, so a
 * request is rebuilt from its parsed members, and an answer has only those that a payer needs.
 */
export function createPayerAccountHandlers(parts: {
  catalog: Pick<Catalog, 'readChains' | 'readProviders'>
  forward: Forward
}) {
  const { catalog, forward } = parts
  let concurrent = 0

  /** @throws ApiError NOT_FOUND */
  async function findNodes(name: string): Promise<Route> {
    const chain = (await catalog.readChains()).findIn('cosmos', name)
    const route = chain && (await catalog.readProviders()).findRoute('cosmos', chain.chainId, 'rpc')
    if (route) return route
    throw new ApiError(
      'NOT_FOUND',
      'No provider serves the RPC of a Cosmos chain of this name; see GET /providers',
    )
  }

  async function ask(req: Request, res: Response, { endpoints }: Route, request: PayerAccountRequest) {
    const outgoing = requestOf(request)
    const client = { caller: new HttpCallResponse(req, res, outgoing), wallet: `payer at ${addressKey(req)}` }
    const forwarded = await forward(outgoing, endpoints, client)
    if (forwarded.outcome === 'abandoned') return undefined
    const answer = forwarded.outcome === 'answered' ? forwarded.answer : undefined
    answer?.rest?.destroy()
    const read = answer && !answer.rest ? readAnswer(answer.body) : undefined
    if (!read) throw new ApiError('UPSTREAM_FAILED', 'No node of this chain answered; try again')
    return read
  }

  return async (req: Request<{ chain: string }>, res: Response) => {
    const request = parse(PayerAccountRequest, req.body)
    const nodes = await findNodes(req.params.chain)
    if (concurrent >= MAX_CONCURRENT)
      throw new ApiError('OVERLOADED', 'Too many accounts are being read; try again', {
        retryAfterSeconds: 1,
      })
    concurrent++
    try {
      const read = await ask(req, res, nodes, request)
      if (!read) return
      const answer: PayerAccountAnswer = { jsonrpc: '2.0', id: request.id, ...read }
      res.set('Cache-Control', 'no-store').json(answer)
    } finally {
      concurrent--
    }
  }
}

const requestOf = ({ method, params = {} }: PayerAccountRequest): UpstreamRequest => ({
  resource: '',
  method: 'POST',
  transport: 'rpc',
  kind: 'read',
  payload: Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })),
  accept: 'application/json',
  acceptEncoding: 'identity',
})

function readAnswer(body: Buffer): PayerNodeAnswer | undefined {
  try {
    return PayerNodeAnswer.safeParse(JSON.parse(body.toString())).data
  } catch {
    return undefined
  }
}
