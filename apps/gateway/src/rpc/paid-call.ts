import { ApiError } from '@tollgate/service'
import { type Catalog, type Route } from '../catalog/catalog'
import { costOf } from './bill'
import { type Call, type CallRequest, type CallResponse, type PaidFor } from './call'
import { type CallsInFlight } from './calls-in-flight'
import { type createCallMetrics, type CountCall } from './call-metrics'
import { type Price } from './charge'
import { methodClassOf } from './method-class'
import { assertServed } from './not-served'
import { type PayByKey } from './pay-by-key'
import { type PayByPayment } from './pay-by-payment'
import { type PayFree } from './pay-free'
import { type PayInSession } from './pay-in-session'
import { serveCall, type ServeDependencies } from './serve-call'

export type PaidCall = ReturnType<typeof createPaidCall>

export function createPaidCall(
  dependencies: ServeDependencies & {
    catalog: Catalog
    inFlight: CallsInFlight
    countCalls: ReturnType<typeof createCallMetrics>
    payInSession: PayInSession
    payByKey: PayByKey
    payByPayment: PayByPayment
    payFree: PayFree
  },
) {
  const { catalog, inFlight, countCalls, payInSession, payByKey, payByPayment, payFree } = dependencies

  return async (request: CallRequest, response: CallResponse): Promise<void> => {
    const holder = holderOf(request)
    const { ecosystem, chainId, transport } = request.call
    const chain = `${ecosystem}:${chainId} ${transport}`
    inFlight.enter(holder, chain)
    try {
      await payAndServe(request, response)
    } finally {
      inFlight.leave(holder, chain)
    }
  }

  async function payAndServe(request: CallRequest, response: CallResponse): Promise<void> {
    const { call, outgoing } = request
    const route = (await catalog.readProviders()).findRoute(call.ecosystem, call.chainId, call.transport)
    if (!route) throw noRoute(call)
    const count = countCalls(route.chain, methodClassOf(call, outgoing.kind))
    const paidFor = await priceAndPay(request, response, route, count)
    if (typeof paidFor === 'object')
      await serveCall(dependencies, request, response, { route, paidFor, count })
  }

  async function priceAndPay(
    request: CallRequest,
    response: CallResponse,
    route: Route,
    count: CountCall,
  ): Promise<PaidFor | 'answered' | undefined> {
    const { call, bill } = request
    try {
      assertServed(bill, call.transport, route.provider)
      const cost = costOf(bill, route.provider.methods)
      const paidFor = await pay(request, response, { route, cost })
      if (paidFor === undefined) count('payment_required')
      if (paidFor === 'answered') count('repeated')
      return paidFor
    } catch (error) {
      count('refused')
      throw error
    }
  }

  /** Undefined if the call is not paid for; it is answered with 402 then. `answered`: it was served before. */
  async function pay(
    request: CallRequest,
    response: CallResponse,
    price: Price,
  ): Promise<PaidFor | 'answered' | undefined> {
    const { credentials } = request
    const payment = request.parsePayment()
    if (credentials.kind === 'session') {
      const { session } = credentials
      await credentials.open?.()
      return payInSession(request, response, { ...price, session, payment })
    }
    if (payment) return payByPayment(request, response, { ...price, payment })
    if (credentials.kind === 'none') return payFree(request, response, price)
    return payByKey(request, response, { ...price, key: credentials.key })
  }
}

/** One holder may use only a share of the calls in flight. A client without credentials cannot use up the share of a wallet. */
function holderOf({ credentials, client }: CallRequest): string {
  if (credentials.kind === 'session') return credentials.session.wallet
  return credentials.kind === 'key' ? credentials.key.wallet : `address ${client().address}`
}

const noRoute = ({ transport }: Call) =>
  new ApiError('NOT_FOUND', `No provider serves ${transport} on that chain; see GET /providers`)
