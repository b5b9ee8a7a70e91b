import { families, isPayersTransaction, type Payment } from '@tollgate/chains'
import {
  decodeJson,
  SettleRequest,
  VerifyRequest,
  type SettlementDetails,
  type PaymentRequirements,
  type SettleResult,
} from '@tollgate/protocol'
import { closeLater } from '@tollgate/testing'
import { hexlify, randomBytes, verifyTypedData } from 'ethers'
import { once } from 'node:events'
import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { transferTypes, usdc, usdcDomain, type SignedPayment } from './payment'

export const clientKey = { id: 'client_gateway', token: 'f'.repeat(64) }

/**
 * The response to a settle request. `settle` validates it; `lost` settles and closes the connection instead of responding;
 * `unproven` succeeds without a transaction; `mismatch` moved another amount; `arrived` was on chain before.
 */
export type Behaviour =
  | 'settle'
  | 'arrived'
  | 'mismatch'
  | 'lost'
  | 'hang'
  | 'pending'
  | 'error'
  | 'denied'
  | 'garbage'
  | 'unproven'

/** What it tells of every settlement: nothing, that the client key lacks the scope, or no answer at all. */
type Shown = SettlementDetails | 'none' | 'denied' | 'hang'

type SettleCall = { key: string; request: SettleRequest }

export async function startFacilitator() {
  const calls: SettleCall[] = []
  const settlements: SettleCall[] = []
  const requestIds: (string | undefined)[] = []
  const traceparents: (string | undefined)[] = []
  const used = new Set<string>()
  const answered = new Map<string, { request: string; result: SettleResult }>()
  const behaviours: Behaviour[] = []
  let refusal: { reason: string; message?: string } | undefined
  let held: Promise<void> | undefined
  let isOffline = false
  let supportedCalls = 0
  let verified = 0
  let shown: Shown = 'none'
  const lookups: string[] = []
  /** Payers whose every signature is taken as their contract's. */
  const contractWallets = new Set<string>()

  function settle(call: SettleCall): SettleResult {
    const request = JSON.stringify(call.request)
    const before = answered.get(call.key)
    if (before) return before.request === request ? before.result : refused('invalid_payment')
    const result = validate(call)
    answered.set(call.key, { request, result })
    return result
  }

  function validate(question: SettleCall): SettleResult {
    const { paymentPayload, paymentRequirements: terms } = question.request
    if (refusal !== undefined) {
      const { reason, message } = refusal
      return { ...refused(reason), ...(message === undefined ? {} : { errorMessage: message }) }
    }
    const transaction = transactionIn(question.request)
    const reason = transaction
      ? checkTerms(transaction, terms)
      : problemOf(signedPaymentIn(paymentPayload.payload), paymentPayload.network, terms)
    const isOfContract = contractWallets.has(
      (transaction ?? payerOf(signedPaymentIn(paymentPayload.payload))).payer,
    )
    if (reason !== undefined && !isOfContract) return refused(reason)
    const { payer, nonce } = transaction ?? payerOf(signedPaymentIn(paymentPayload.payload))
    const authorizationKey = `${terms.network} ${payer} ${nonce}`
    if (used.has(authorizationKey)) return refused('duplicate_settlement')
    used.add(authorizationKey)
    settlements.push(question)
    return {
      ...refused(''),
      success: true,
      transaction: hexlify(randomBytes(32)),
      payer,
      blockNumber: 7,
    }
  }

  async function answer(req: IncomingMessage, res: ServerResponse) {
    const respond = (status: number, body: unknown) =>
      res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    if (isOffline) return res.socket?.destroy()
    if (req.url === '/api/v1/supported') {
      supportedCalls++
      await held
      return respond(200, { kinds: [kind, cosmosKind] })
    }
    if (req.url === '/api/v1/assets') return respond(200, { data: [asset] })
    if (req.headers['x-client-id'] !== clientKey.id || req.headers['x-client-token'] !== clientKey.token)
      return respond(401, { code: 'UNAUTHORIZED', message: 'The client key is wrong' })

    if (req.url?.startsWith('/api/v1/settlements')) {
      lookups.push(req.url)
      if (shown === 'hang') return undefined
      if (shown === 'denied')
        return respond(403, { code: 'FORBIDDEN', message: 'Not in the scope of the key' })
      if (req.url !== '/api/v1/settlements/42')
        return respond(200, { data: { settlements: shown === 'none' ? [] : [shown], next: null } })
      return respond(200, { data: shown })
    }

    if (req.url === '/api/v1/verify') {
      verified++
      traceparents.push(req.headers.traceparent?.toString())
      const { paymentPayload, paymentRequirements: terms } = VerifyRequest.parse(await json(req))
      const problem = problemOf(signedPaymentIn(paymentPayload.payload), paymentPayload.network, terms)
      const isValid =
        contractWallets.has(payerOf(signedPaymentIn(paymentPayload.payload)).payer) || problem === undefined
      return respond(200, {
        isValid,
        invalidReason: isValid ? '' : problem,
        payer: '',
        timestamp: 1,
        cachedResult: false,
      })
    }

    const question = {
      key: String(req.headers['idempotency-key']),
      request: SettleRequest.parse(await json(req)),
    }
    calls.push(question)
    requestIds.push(req.headers['x-request-id']?.toString())
    traceparents.push(req.headers.traceparent?.toString())
    const behaviour = behaviours.shift() ?? 'settle'
    await held
    if (behaviour === 'hang') return undefined
    if (behaviour === 'error')
      return respond(500, { code: 'SETTLEMENT_FAILED', message: 'The chain is away' })
    if (behaviour === 'denied')
      return respond(400, { code: 'INVALID_REQUEST', message: 'This is no payment' })
    if (behaviour === 'garbage') return res.writeHead(200).end('<html>success</html>')
    if (behaviour === 'unproven') return respond(200, { ...refused(''), success: true })
    if (behaviour === 'mismatch')
      return respond(200, { ...refused('transfer_event_mismatch'), transaction: mismatched })
    if (behaviour === 'pending')
      return respond(200, { ...refused('settlement_pending'), transaction: `0x${'ab'.repeat(32)}` })
    const result = { ...settle(question), ...(behaviour === 'arrived' && { arrived: true }) }
    return behaviour === 'lost' ? res.socket?.destroy() : respond(200, result)
  }

  const server = http.createServer((req, res) => {
    answer(req, res).catch(() => res.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  closeLater(() => {
    server.closeAllConnections()
    server.close()
  })

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/v1`,
    calls,
    settlements,
    requestIds,
    traceparents,
    supportAsked: () => supportedCalls,
    verifyAsked: () => verified,
    contractWallets,
    lookups,
    show: (settlement: Shown) => (shown = settlement),
    /** One behaviour for each of the next settle requests; later ones are settled. */
    next: (...these: Behaviour[]) => void behaviours.push(...these),
    refuse: (reason: string | undefined, message?: string) =>
      (refusal =
        reason === undefined ? undefined : { reason, ...(message === undefined ? {} : { message }) }),
    hold(): () => void {
      const { promise, resolve } = openPromise()
      held = promise
      return () => {
        held = undefined
        resolve()
      }
    },
    disconnect: () => (isOffline = true),
    reconnect: () => (isOffline = false),
  }
}

const transactionIn = ({ paymentPayload: { payload } }: SettleRequest) =>
  Object.values(families)
    .map((family) => family.readPayment(payload))
    .find((payment) => payment && isPayersTransaction(payment))

const checkTerms = ({ amount, payTo }: Payment, terms: PaymentRequirements) =>
  amount === BigInt(terms.maxAmountRequired) && payTo === terms.payTo ? undefined : 'invalid_payment'

function problemOf(payment: SignedPayment, network: string, terms: PaymentRequirements) {
  const { authorization } = payment
  if (network !== terms.network) return 'invalid_network'
  if (signerOf(payment) !== authorization.from) return 'invalid_exact_evm_payload_signature'
  if (authorization.value !== terms.maxAmountRequired) return 'invalid_exact_evm_payload_authorization_value'
  return authorization.to === terms.payTo ? undefined : 'invalid_exact_evm_payload_recipient_mismatch'
}

const payerOf = ({ authorization: { from, nonce } }: SignedPayment) => ({ payer: from, nonce })

/** The payload is an object or its base64. */
const signedPaymentIn = (payload: unknown) =>
  (typeof payload === 'string' ? decodeJson(payload) : payload) as SignedPayment

function signerOf({ signature, authorization }: SignedPayment) {
  try {
    return verifyTypedData(usdcDomain, transferTypes, authorization, signature)
  } catch {
    return undefined
  }
}

function openPromise() {
  let resolve: () => void = () => undefined
  const promise = new Promise<void>((fulfil) => (resolve = fulfil))
  return { promise, resolve }
}

export const mismatched = `0x${'cd'.repeat(32)}`

const refused = (errorReason: string): SettleResult => ({
  success: false,
  transaction: '',
  errorReason,
  network: 'base-sepolia',
  payer: '',
  blockNumber: 0,
  timestamp: new Date().toISOString(),
})

const kind = {
  x402Version: 1,
  scheme: 'exact',
  network: 'base-sepolia',
  status: 'healthy',
  block: 7,
  feePayer: '0x0000000000000000000000000000000000000001',
}

export const cosmosFeePayer = 'osmo1pqyqszqgpqyqszqgpqyqszqgpqyqszqgvpz0sn'

const cosmosKind = { ...kind, network: 'osmosis-1', feePayer: cosmosFeePayer, feePayerSigns: true }

const asset = { id: 1, network: 'base-sepolia', asset: usdc, symbol: 'USDC', decimals: 6, active: true }
