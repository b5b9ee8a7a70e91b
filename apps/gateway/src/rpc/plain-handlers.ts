import { type RpcRequest } from '@tollgate/protocol'
import {
  addressKey,
  ApiError,
  forgetBody,
  rawBody,
  requestId,
  spanOf,
  type Limiter,
  type ReadBody,
} from '@tollgate/service'
import { type Request, type Response } from 'express'
import { type FreeCredits } from '../accounts/free-credits'
import { findSession } from '../auth/guard'
import { type Sessions } from '../auth/sessions'
import { type SignInPerRequest } from '../auth/sign-in-per-request'
import { type Catalog } from '../catalog/catalog'
import { type Chain } from '../catalog/chains'
import { SIGN_IN_HEADER } from '../extensions/sign-in-with-x'
import { assertAllowed, unknownKey, withoutSecrets } from '../keys/access-key'
import { type AccessKeyStore } from '../keys/store'
import { parsePaymentHeader, type PaymentHeader } from '../payments/payment-header'
import { assertPayload } from './assert-payload'
import { billOf, type Bill } from './bill'
import { type CallRequest, type Credentials } from './call'
import { callKindOf } from './call-kind'
import { HttpCallResponse } from './http-call-response'
import {
  entryErrorOf,
  InvalidBatch,
  jsonRpcCodes,
  jsonRpcErrorOf,
  JsonRpcRefusal,
  readJsonRpc,
  refusalBody,
} from './json-rpc'
import { areInexact, idsOf, type JsonRpcIds } from './json-rpc-ids'
import { nodeHeadersOf } from './node-headers'
import { type PaidCall } from './paid-call'
import { type RequirePaymentChoice } from './payment-choice'
import { parsePlainUrl, type PlainUrl } from './plain-url'
import { outlineOfPayload } from './request-outline'
import { assertResourcePath } from './resource-path'
import { isObject, rpcMethodOf } from './rpc-methods'
import { unknownChain } from './unknown-chain'

type Dependencies = {
  paidCall: PaidCall
  requirePaymentChoice: RequirePaymentChoice
  catalog: Pick<Catalog, 'readChains'>
  sessions: Pick<Sessions, 'authenticate'>
  signInPerRequest: SignInPerRequest
  keys: Pick<AccessKeyStore, 'find' | 'isRemembered'>
  freeCredits: Pick<FreeCredits, 'mayServe'>
  publicUrl: string
}

export type PlainLimits = {
  readBody: ReadBody
  limitBytes: number
  /** Of calls, by wallet or by address, and of large bodies by address. */
  limitCalls: Limiter
  limitUploads: Limiter
  /** Of requests with an access key that is not known yet, by address. */
  limitGuesses: Limiter
}

/** A call by a plain URL, on its way to become a {@link CallRequest}. */
type PlainCall = {
  url: PlainUrl
  chain: Chain
  credentials: Credentials
  payment: PaymentHeader | undefined
}

const EMPTY_PAYLOAD = '{}'

/** Calls by URLs that a client of the chain takes as it takes a node's: JSON-RPC, the URI form of CometBFT, and REST. */
export function createPlainHandlers(dependencies: Dependencies) {
  const { paidCall, requirePaymentChoice, catalog, sessions, signInPerRequest, keys, publicUrl } =
    dependencies

  return (limits: PlainLimits) => {
    async function call(req: Request, res: Response): Promise<void> {
      const url = parsePlainUrl(req.url)
      const chains = await catalog.readChains()
      const chain = chains.find(url.chain)
      if (!chain) throw unknownChain(url.chain, chains)
      assertNoMisplacedKey(url)
      const payment = parsePaymentHeader(req)
      if (payment && req.method === 'HEAD') throw headPaysNothing(res)
      const credentials = await authenticate(req, res, { url, payment })
      const plainCall = { url, chain, credentials, payment }
      assertServed(req, res, plainCall)
      if (isUnpaid(plainCall) && !isFreeCall(req, url)) {
        await limits.limitCalls(addressKey(req), res)
        return requirePayment(req, res, plainCall)
      }
      if (url.transport === 'rpc' && req.method === 'POST') await answerJsonRpc(req, res, plainCall)
      else await answerAsIs(req, res, plainCall)
    }

    async function authenticate(
      req: Request,
      res: Response,
      { url: { secret }, payment }: Pick<PlainCall, 'url' | 'payment'>,
    ): Promise<Credentials> {
      if (secret === undefined) {
        const session = findSession(sessions, req)
        const proven = session ? { session } : payment ? undefined : await signInWith(req, res)
        return proven ? { kind: 'session', ...proven } : { kind: 'none' }
      }
      if (!keys.isRemembered(secret)) await limits.limitGuesses(addressKey(req), res)
      const key = await keys.find(secret)
      if (!key) throw unknownKey()
      return { kind: 'key', key }
    }

    async function signInWith(req: Request, res: Response) {
      const proof = req.get(SIGN_IN_HEADER)
      if (proof === undefined) return undefined
      await limits.limitCalls(addressKey(req), res)
      return signInPerRequest(proof, addressKey(req))
    }

    /** A body is not read for it: crawlers and clients ask for the price with any. */
    async function requirePayment(req: Request, res: Response, { url, chain }: PlainCall): Promise<void> {
      assertResourcePath(url.resource)
      const method = url.transport === 'rpc' && pathOf(url) === '' ? 'POST' : 'GET'
      const { transport, resource } = url
      const call = { ...chain, transport, resource, method } as const
      const priced = { resource: resourceOf(chain, url), call, credentials: { kind: 'none' } } as const
      await requirePaymentChoice(priced, responseOf(req, res))
    }

    /** `req.body` is undefined if the request has none. */
    async function readCallBody(req: Request, res: Response, { credentials }: PlainCall): Promise<void> {
      const wallet = walletOf(credentials)
      await limits.readBody(req, res, {
        limitBytes: limits.limitBytes,
        ...(wallet === undefined ? {} : { sender: wallet }),
        async limit(points) {
          if (points > 1) await limits.limitUploads(addressKey(req), res, points)
          await limits.limitCalls(wallet ?? addressKey(req), res, points)
        },
      })
    }

    async function answerJsonRpc(req: Request, res: Response, plainCall: PlainCall): Promise<void> {
      let ids: JsonRpcIds = null
      let textOfIds = ''
      let payload: RpcRequest['payload'] = {}
      try {
        await readCallBody(req, res, plainCall).catch((error: unknown) => {
          throw isUnreadable(error) ? new JsonRpcRefusal(jsonRpcCodes.parseError, error.message) : error
        })
        ids = idsOf(req.body)
        const text = rawBody(req) ?? ''
        if (areInexact(ids)) textOfIds = text
        payload = outlineOfPayload(readJsonRpc(req.body)) as RpcRequest['payload']
        forgetBody(req)
        await forward(req, res, plainCall, { method: 'POST', payload, text })
      } catch (error) {
        const refusal = jsonRpcErrorOf(error)
        if (refusal === undefined || res.headersSent) throw error
        if (isUnpaid(plainCall) && isPriceQuery(error)) return requirePayment(req, res, plainCall)
        const entries = error instanceof InvalidBatch ? error.entries : payload
        const body = refusalBody(error instanceof JsonRpcRefusal ? error.ids : ids, textOfIds, (index) =>
          Array.isArray(entries) ? entryErrorOf(error, refusal, entries[index]) : refusal,
        )
        if (body === undefined) res.status(204).end()
        else res.type('json').send(body)
      }
    }

    async function answerAsIs(req: Request, res: Response, plainCall: PlainCall): Promise<void> {
      await readCallBody(req, res, plainCall)
      const hasBody = req.method === 'POST' && req.body !== undefined
      const text = hasBody ? (rawBody(req) ?? EMPTY_PAYLOAD) : EMPTY_PAYLOAD
      const payload = hasBody ? anyPayload(req.body) : {}
      forgetBody(req)
      await forward(req, res, plainCall, { method: req.method === 'POST' ? 'POST' : 'GET', payload, text })
    }

    function forward(
      req: Request,
      res: Response,
      { url, chain, credentials, payment }: PlainCall,
      content: Pick<RpcRequest, 'method' | 'payload'> & { text: string },
    ): Promise<void> {
      const { method, payload, text } = content
      const { transport, resource } = url
      assertResourcePath(resource)
      const { ecosystem, chainId } = chain
      const request: RpcRequest = { ecosystem, chain_id: chainId, resource, transport, method, payload }
      assertPayload(request)
      const bill = billOf(request)
      if (credentials.kind === 'key') {
        const { origin } = req.headers
        const isRest = transport === 'rest'
        assertAllowed(credentials.key, { caip2: chain.caip2, methods: methodsOf(bill), isRest, origin })
      }
      const nodeHeaders = nodeHeadersOf(req.headers, ecosystem)
      const kind = callKindOf(request)
      const callRequest: CallRequest = {
        call: { ecosystem, chainId, transport, method, resource, rpcMethod: rpcMethodOf(request) },
        bill,
        outgoing: { resource, method, transport, kind, payload: Buffer.from(text), ...nodeHeaders },
        credentials,
        client: () => ({ address: addressKey(req), requestId: requestId(req) }),
        span: spanOf(req),
        resource: resourceOf(chain, url),
        parsePayment: () => payment,
      }
      return paidCall(callRequest, new HttpCallResponse(req, res, callRequest.outgoing))
    }

    return call
  }

  /** The same for all names of the chain, without an access key and without the query. */
  function resourceOf({ caip2 }: Chain, url: PlainUrl): string {
    return `${publicUrl}/v1/${caip2}${url.transport === 'rest' ? '/rest' : ''}${pathOf(url)}`
  }

  /** Decides for a request without credentials. One that is no call asks for the price. */
  function isFreeCall(req: Request, { transport, resource }: PlainUrl): boolean {
    const isCall = transport === 'rest' || req.method === 'POST' || hasPath(resource)
    return isCall && req.method !== 'HEAD' && dependencies.freeCredits.mayServe(addressKey(req))
  }

  function responseOf(req: Request, res: Response) {
    return new HttpCallResponse(req, res, undefined)
  }
}

/** Of a body that need not be JSON-RPC. What is no object names no method. */
function anyPayload(body: unknown): RpcRequest['payload'] {
  const objectOf = (value: unknown) => (isObject(value) ? value : {})
  return outlineOfPayload(Array.isArray(body) ? body.map(objectOf) : objectOf(body)) as RpcRequest['payload']
}

const isUnpaid = ({ credentials, payment }: PlainCall) => credentials.kind === 'none' && !payment

const isPriceQuery = (error: unknown) => error instanceof JsonRpcRefusal || isUnreadable(error)

const hasPath = (resource: string) => /^\/[^?]/.test(resource)

const pathOf = ({ resource }: Pick<PlainUrl, 'resource'>) => resource.split('?', 1)[0] ?? ''

/** A key elsewhere in the path would go to the node, and into the public history. */
function assertNoMisplacedKey({ resource }: PlainUrl) {
  if (withoutSecrets(resource) !== resource)
    throw new ApiError(
      'INVALID_REQUEST',
      'The access key is incomplete or in the wrong place; it stands directly after the chain',
    )
}

function headPaysNothing(res: Response) {
  res.setHeader('Allow', 'GET, POST')
  return new ApiError('METHOD_NOT_ALLOWED', 'An answer to HEAD has no body, so it takes no payment')
}

/** An entry that names no method can be read as any: it counts as one that no list names. */
const methodsOf = ({ urlMethods, entries }: Bill): string[] => [
  ...urlMethods,
  ...entries.flatMap(({ methods, minimum }) =>
    methods.length === 0 && minimum === 'one' ? ['unknown'] : methods,
  ),
]

function walletOf(credentials: Credentials): string | undefined {
  if (credentials.kind === 'session') return credentials.session.wallet
  return credentials.kind === 'key' ? credentials.key.wallet : undefined
}

const isUnreadable = (error: unknown): error is ApiError =>
  error instanceof ApiError && error.code === 'INVALID_REQUEST'

/**
 * JSON-RPC goes by POST, and only CometBFT takes a method in the path, by GET. Refused before a payment is taken; but a GET
 * without credentials asks for the price.
 */
function assertServed({ method }: Request, res: Response, plainCall: PlainCall) {
  const { url, chain } = plainCall
  if (url.transport === 'rest') return
  const isPath = hasPath(url.resource)
  if (isPath && chain.ecosystem !== 'cosmos')
    throw new ApiError('NOT_FOUND', 'Nothing is served at this path; send JSON-RPC by POST to /v1/{chain}')
  const allowed = isPath ? 'GET' : 'POST'
  const isAllowed = method === allowed || (allowed === 'GET' && method === 'HEAD')
  if (isAllowed || (!isPath && isUnpaid(plainCall))) return
  res.setHeader('Allow', isPath ? 'GET, HEAD' : 'POST')
  throw new ApiError('METHOD_NOT_ALLOWED', `This path takes ${isPath ? 'GET' : 'JSON-RPC by POST'} only`)
}
