import { families, type Payment } from '@tollgate/chains'
import { decodeJson, SettleRequest, type PaymentRequirements, type SettleResult } from '@tollgate/protocol'
import { closeLater } from '@tollgate/testing'
import { hexlify, randomBytes, verifyTypedData } from 'ethers'
import { once } from 'node:events'
import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { transferTypes, usdc, usdcDomain, type SignedPayment } from './payment'

export const clientKey = { id: 'client_gateway', token: 'f'.repeat(64) }

/**
 * What becomes of a question. `settle` settles or refuses, as it deserves. `lost` does so and cuts the connection before
 * it says so; `unproven` is a success without a transaction, `garbage` no JSON at all; `mismatch` moved another amount.
 */
export type Manner =
  'settle' | 'mismatch' | 'lost' | 'hang' | 'pending' | 'error' | 'denied' | 'garbage' | 'unproven'

type Asked = { key: string; request: SettleRequest }

/** A facilitator of one network and one asset whose chain is a set of used nonces, and which errs as it is told. */
export async function startFacilitator() {
  const asked: Asked[] = []
  const settlements: Asked[] = []
  const requestIds: (string | undefined)[] = []
  const used = new Set<string>()
  const answered = new Map<string, { request: string; result: SettleResult }>()
  const manners: Manner[] = []
  let refusal: { reason: string; message?: string } | undefined
  let held: Promise<void> | undefined
  let isAway = false
  let supportAsked = 0

  function settle(question: Asked): SettleResult {
    const request = JSON.stringify(question.request)
    const before = answered.get(question.key)
    if (before) return before.request === request ? before.result : refused('invalid_payment')
    const result = judge(question)
    answered.set(question.key, { request, result })
    return result
  }

  function judge(question: Asked): SettleResult {
    const { paymentPayload, paymentRequirements: terms } = question.request
    if (refusal !== undefined) {
      const { reason, message } = refusal
      return { ...refused(reason), ...(message === undefined ? {} : { errorMessage: message }) }
    }
    const transaction = transactionIn(question.request)
    const reason = transaction
      ? unfit(transaction, terms)
      : problemOf(signedPaymentIn(paymentPayload.payload), paymentPayload.network, terms)
    if (reason !== undefined) return refused(reason)
    const { payer, nonce } = transaction ?? payerOf(signedPaymentIn(paymentPayload.payload))
    const spent = `${payer} ${nonce}`
    if (used.has(spent)) return refused('duplicate_settlement')
    used.add(spent)
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
    const say = (status: number, body: unknown) =>
      res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    if (isAway) return res.socket?.destroy()
    if (req.url === '/api/v1/supported') {
      supportAsked++
      await held
      return say(200, { kinds: [kind, cosmosKind] })
    }
    if (req.url === '/api/v1/assets') return say(200, { data: [asset] })
    if (req.headers['x-client-id'] !== clientKey.id || req.headers['x-client-token'] !== clientKey.token)
      return say(401, { code: 'UNAUTHORIZED', message: 'The client key is wrong' })

    const question = {
      key: String(req.headers['idempotency-key']),
      request: SettleRequest.parse(await json(req)),
    }
    asked.push(question)
    requestIds.push(req.headers['x-request-id']?.toString())
    const manner = manners.shift() ?? 'settle'
    await held
    if (manner === 'hang') return undefined
    if (manner === 'error') return say(500, { code: 'SETTLEMENT_FAILED', message: 'The chain is away' })
    if (manner === 'denied') return say(400, { code: 'INVALID_REQUEST', message: 'This is no payment' })
    if (manner === 'garbage') return res.writeHead(200).end('<html>success</html>')
    if (manner === 'unproven') return say(200, { ...refused(''), success: true })
    if (manner === 'mismatch')
      return say(200, { ...refused('transfer_event_mismatch'), transaction: mismatched })
    if (manner === 'pending')
      return say(200, { ...refused('settlement_pending'), transaction: `0x${'ab'.repeat(32)}` })
    const result = settle(question)
    return manner === 'lost' ? res.socket?.destroy() : say(200, result)
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
    /** Every question about a settlement, and those that moved money. */
    asked,
    settlements,
    /** Of each question, its X-Request-Id. */
    requestIds,
    /** How often it was asked what it supports. */
    supportAsked: () => supportAsked,
    /** How the next questions are answered, one each; those after them are settled. */
    next: (...these: Manner[]) => void manners.push(...these),
    /** Refuses every payment for this reason, and in these words, from now on; undefined ends it. */
    refuse: (reason: string | undefined, message?: string) =>
      (refusal =
        reason === undefined ? undefined : { reason, ...(message === undefined ? {} : { message }) }),
    /** Keeps every answer back until the returned function is called. */
    hold(): () => void {
      const { promise, resolve } = openPromise()
      held = promise
      return () => {
        held = undefined
        resolve()
      }
    },
    /** Cuts every connection, as an address does behind which nobody is. */
    leave: () => (isAway = true),
    comeBack: () => (isAway = false),
  }
}

/** The payment where it is a whole transaction of its payer, whose signature is taken for good. */
function transactionIn({ paymentPayload, paymentRequirements }: SettleRequest) {
  const family = paymentRequirements.network === cosmosKind.network ? families.cosmos : families.evm
  const payment = family?.readPayment(paymentPayload.payload)
  return payment?.transaction ? payment : undefined
}

const unfit = ({ amount, payTo }: Payment, terms: PaymentRequirements) =>
  amount === BigInt(terms.maxAmountRequired) && payTo === terms.payTo ? undefined : 'invalid_payment'

function problemOf(payment: SignedPayment, network: string, terms: PaymentRequirements) {
  const { authorization } = payment
  if (network !== terms.network) return 'invalid_network'
  if (signerOf(payment) !== authorization.from) return 'invalid_exact_evm_payload_signature'
  if (authorization.value !== terms.maxAmountRequired) return 'invalid_exact_evm_payload_authorization_value'
  return authorization.to === terms.payTo ? undefined : 'invalid_exact_evm_payload_recipient_mismatch'
}

const payerOf = ({ authorization: { from, nonce } }: SignedPayment) => ({ payer: from, nonce })

/** The signed part of a payload, be it an object or base64 of one. */
const signedPaymentIn = (payload: unknown) =>
  (typeof payload === 'string' ? decodeJson(payload) : payload) as SignedPayment

/** Whoever signed the payment; undefined where nobody can have. */
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

/** The transaction of a payment that moved another amount. */
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

/** Whoever bears the fees of payments on `osmosis-1`. */
export const cosmosFeePayer = 'osmo1pqyqszqgpqyqszqgpqyqszqgpqyqszqgvpz0sn'

const cosmosKind = { ...kind, network: 'osmosis-1', feePayer: cosmosFeePayer }

const asset = { id: 1, network: 'base-sepolia', asset: usdc, symbol: 'USDC', decimals: 6, active: true }
