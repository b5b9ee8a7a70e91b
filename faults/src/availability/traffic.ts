import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { decodeJson, type SessionTokens, type SettleResult } from '@tollgate/protocol'
import { COUNTED_CHAIN, countedCall } from '@tollgate/e2e/testing/callers'
import { applyCatalog } from '@tollgate/e2e/testing/catalog'
import { newThirdParty, type ClientKey } from '@tollgate/e2e/testing/client-keys'
import { newCustomer, type EvmCustomer } from '@tollgate/e2e/testing/customers'
import { openLedgerQueries } from '@tollgate/e2e/testing/ledger-queries'
import { sign, until } from '@tollgate/e2e/testing/paying'
import { createAccessKey } from '@tollgate/e2e/testing/plain-calls'
import { startCountingUpstream } from '@tollgate/e2e/testing/upstream'
import { signedLogin } from '@tollgate/e2e/testing/world'
import { fundWallet } from '@tollgate/devnet'
import { Wallet } from 'ethers'
import { auditCalls, auditMoney } from '../audit'
import { auditPayments, auditTransactions, type Ended } from '../audit-payments'
import { openEvm } from '../evm'
import { type Made } from '../load'
import { type Payment } from '../paying-chain'
import { type Stage } from '../scenario'
import { openSettlementQueries } from '../settlement-queries'
import { type Deployment } from './deployment'
import { createRequests, type Answer, type Requests } from './requests'

const CUSTOMERS = 6
const MERCHANTS = 2
const CREDITS = 10
const OWN_PLAN = 10
/** In smallest units: more than anyone can spend. */
const MONEY = 1_000_000_000n
const PRICE = 1_000n
/** Between the requests of one client. */
const PAUSE_MS = 60
const SIGN_IN_PAUSE_MS = 300
/** Requests of a client between two refreshes of its tokens. */
const REFRESH_EVERY = 20
const OUTCOME_SECONDS = 60
/** Until both gateways use a new catalog. */
const CATALOG_MS = 1_500
const RESOLVED_WITHIN_SECONDS = 60

export const DESCRIPTION = `${CUSTOMERS} wallets with sessions that call, buy and refresh, one with an access key, one that pays without a
  sign-in, one that signs in again and again, ${MERCHANTS} merchants that verify and settle with client keys, a user of the facilitator
  and its operator`

/** A payment whose call was served; without a wallet if it was made without a session. */
type Purchase = { wallet?: string; payment: string; at: number }

/** A payment that was settled for a merchant. */
type Sale = { key: ClientKey; idempotencyKey: string; payment: Payment; end: SettleResult; at: number }

export type Traffic = Awaited<ReturnType<typeof startTraffic>>

/** Clients of all kinds, which send requests through nginx until they are stopped. */
export async function startTraffic(stage: Pick<Stage, 'closeLater'>, deployment: Deployment) {
  const { closeLater } = stage
  const { nginx, entrance } = deployment
  // Its first replicas may have been replaced.
  const world = {
    ...deployment.world,
    gateway: { ...deployment.world.gateway, url: nginx.gatewayUrl },
    facilitator: { ...deployment.world.facilitator, url: nginx.facilitatorUrl },
  }
  const requests = createRequests()
  closeLater(() => requests.close())
  const upstream = await startCountingUpstream()
  closeLater(() => upstream.stop())
  const ledger = openLedgerQueries(world.infrastructure.postgres.gateway)
  closeLater(() => ledger.close())
  const settlements = openSettlementQueries(world.infrastructure.postgres.facilitator)
  closeLater(() => settlements.close())
  const chain = openEvm(world.infrastructure.anvil)
  closeLater(() => chain.close())

  const plan = { ...world.plan, id: OWN_PLAN, credits: CREDITS }
  await applyCatalog(world, { plans: [plan], upstreamUrl: upstream.url })
  await delay(CATALOG_MS)
  const customers: EvmCustomer[] = []
  while (customers.length < CUSTOMERS + 1) customers.push(await newCustomer(world, plan, MONEY))
  const [keyOwner, ...callers] = customers
  if (!keyOwner) throw new Error('There is no customer')
  const accessKey = await createAccessKey(entrance, keyOwner.session.token)
  const stranger = Wallet.createRandom()
  await fundWallet(world.infrastructure.rpcUrl, stranger.address, { usdc: MONEY })
  const thirdParty = await newThirdParty(world.facilitator)
  const merchants = await Promise.all(
    Array.from({ length: MERCHANTS }, async () => ({
      key: await thirdParty.newKey(),
      payer: await chain.newPayer(MONEY),
      payTo: await chain.newRecipient(),
      ended: [] as Ended[],
    })),
  )

  const made: Made[] = []
  const purchases: Purchase[] = []
  const sales: Sale[] = []
  const signers = [...chain.signers]
  const stopping = new AbortController()
  const isOver = () => stopping.signal.aborted
  const pause = (ms = PAUSE_MS) => delay(ms)
  const secrets = { adminToken: world.secrets.adminToken }
  const { ask } = requests
  let calls = 0

  /** A call, which pays when it has to, until it is served. */
  async function callUntilServed(
    actor: string,
    send: (id: string, payment: string | undefined) => Promise<Answer | undefined>,
    pay: (asked: unknown) => Promise<string>,
    wallet: string,
  ) {
    let payment: string | undefined
    const deadline = Date.now() + OUTCOME_SECONDS * 1000
    for (;;) {
      const id = `1/${calls++}`
      const record: Made = { id, wallet }
      const answer = await send(id, payment)
      if (answer && !isOfProxy(answer))
        Object.assign(record, { status: answer.status, code: answer.body['code'] })
      made.push(record)
      if (answer?.status === 200) {
        if (payment !== undefined) purchases.push({ wallet, payment, at: Date.now() })
        return
      }
      if (answer?.status === 402 && payment === undefined) payment = await pay(answer.body)
      if (Date.now() > deadline) throw new Error(`${actor}: no outcome after ${OUTCOME_SECONDS} s`)
      if (isOver() && payment === undefined) return
    }
  }

  /** A payment demand is right unless the request has paid. */
  const isServedOr402 = (payment: string | undefined) => (answer: Answer) =>
    (answer.status === 200 && answer.body['result'] === '0x1') ||
    (answer.status === 402 && payment === undefined)

  async function sessionLane(customer: EvmCustomer) {
    let tokens = customer.session
    for (let n = 1; !isOver(); n++) {
      await callUntilServed(
        'call in a session',
        async (id, payment) =>
          (
            await ask('call in a session', `${nginx.gatewayUrl}/rpc`, {
              headers: {
                authorization: `Bearer ${tokens.token}`,
                ...(payment ? { 'x-payment': payment } : {}),
              },
              body: countedCall(id, n % 10 === 3 ? 'answer_late' : 'answer'),
              isRight: (answer) => answer.status === 200 || (answer.status === 402 && payment === undefined),
            })
          ).answer,
        customer.pay,
        customer.address,
      )
      if (n % REFRESH_EVERY === 0) tokens = await refresh(tokens)
      await pause()
    }
  }

  /** Within ten seconds an answer that was lost can be asked for again. */
  async function refresh({ refresh_token }: SessionTokens): Promise<SessionTokens> {
    for (;;) {
      const { answer, verdict } = await ask('refresh', `${nginx.gatewayUrl}/auth/refresh`, {
        body: { refresh_token },
        isRight: ({ status, body }) => status === 200 && typeof body['token'] === 'string',
      })
      if (verdict === 'done' && answer) return answer.body as unknown as SessionTokens
      if (answer && answer.status < 500) throw new Error(`the refresh was answered ${answer.status}`)
    }
  }

  const jsonRpc = (id: string) => ({ jsonrpc: '2.0', id, method: 'answer', params: [] })

  async function accessKeyLane(owner: EvmCustomer) {
    while (!isOver()) {
      const { answer } = await ask('call by access key', accessKey.urlOf(COUNTED_CHAIN), {
        body: jsonRpc(`key/${calls++}`),
        isRight: isServedOr402(undefined),
      })
      if (answer?.status === 402) await sessionPurchase(owner)
      await pause()
    }
  }

  /** The owner's tokens are an hour old at most. */
  const sessionPurchase = (owner: EvmCustomer) =>
    callUntilServed(
      'purchase for an access key',
      async (id, payment) =>
        (
          await ask('call in a session', `${nginx.gatewayUrl}/rpc`, {
            headers: {
              authorization: `Bearer ${owner.session.token}`,
              ...(payment ? { 'x-payment': payment } : {}),
            },
            body: countedCall(id),
            isRight: (answer) => answer.status === 200 || (answer.status === 402 && payment === undefined),
          })
        ).answer,
      owner.pay,
      owner.address,
    )

  async function strangerLane() {
    const url = `${nginx.gatewayUrl}/v1/${COUNTED_CHAIN}`
    while (!isOver()) {
      let payment: string | undefined
      const id = `stranger/${calls++}`
      for (let isServed = false; !isServed;) {
        const { answer } = await ask('call that pays', url, {
          headers: payment === undefined ? {} : { 'x-payment': payment },
          body: jsonRpc(id),
          isRight: isServedOr402(payment),
        })
        isServed = answer?.status === 200
        if (isServed && payment !== undefined) purchases.push({ payment, at: Date.now() })
        if (answer?.status === 402 && payment === undefined) {
          await checkOffer(answer)
          const { accepts = [] } = answer.body as {
            accepts?: { maxAmountRequired: string; network: string }[]
          }
          const offers = accepts.filter(
            ({ maxAmountRequired, network }) => maxAmountRequired === plan.amount && network === plan.network,
          )
          payment = await sign(stranger, {
            accepts: offers,
            paymentRequirements: { network: plan.chain_id },
          })
        }
        if (isOver() && payment === undefined) return
      }
      await pause()
    }
  }

  /** The key of a signed offer must be in the DID document of whichever replica answers. */
  async function checkOffer({ headers }: Answer) {
    const offered = decodeJson(String(headers['payment-required'])) as {
      extensions?: { 'offer-receipt'?: { info: { offers: { signature: string }[] } } }
    }
    const [offer] = offered.extensions?.['offer-receipt']?.info.offers ?? []
    if (!offer) throw new Error('a 402 has no signed offer')
    const [header = ''] = offer.signature.split('.')
    const { kid } = JSON.parse(Buffer.from(header, 'base64url').toString()) as { kid: string }
    await ask('key of an offer', `${nginx.gatewayUrl}/.well-known/did.json`, {
      isRight: ({ status, body }) =>
        status === 200 && (body['assertionMethod'] as string[] | undefined)?.includes(kid) === true,
    })
  }

  async function signInLane() {
    const wallet = Wallet.createRandom()
    const gateway = nginx.gatewayUrl
    while (!isOver()) {
      await pause(SIGN_IN_PAUSE_MS)
      const nonce = await ask('sign-in', `${gateway}/auth/nonce?address=${wallet.address}`, {
        isRight: ({ status }) => status === 200,
      })
      if (nonce.verdict !== 'done') continue
      const login = await ask('sign-in', `${gateway}/auth/login`, {
        body: await loginOf(wallet, String(nonce.answer?.body['nonce'])),
        isRight: ({ status, body }) => status === 200 && typeof body['token'] === 'string',
      })
      const token = login.answer?.body['token']
      if (login.verdict !== 'done' || typeof token !== 'string') continue
      await ask('sign-out', `${gateway}/auth/logout`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}` },
        isRight: ({ status }) => status < 300,
      })
    }
  }

  const loginOf = (wallet: Parameters<typeof signedLogin>[1], nonce: string) =>
    signedLogin({ ...entrance, plan }, wallet, nonce)

  async function merchantLane({ key, payer, payTo, ended }: (typeof merchants)[number]) {
    while (!isOver()) {
      const payment = await payer.pay(payTo, PRICE)
      await ask('verify', `${nginx.facilitatorUrl}/api/v1/verify`, {
        headers: headersOf(key),
        body: payment.request,
        isRight: ({ status, body }) => status === 200 && body['isValid'] === true,
      })
      ended.push({ payment, end: await settle(key, payment) })
      await pause()
    }
  }

  async function settle(key: ClientKey, payment: Payment): Promise<SettleResult | undefined> {
    const { request } = payment
    const idempotencyKey = randomUUID()
    const deadline = Date.now() + OUTCOME_SECONDS * 1000
    while (Date.now() < deadline) {
      const { verdict, answer } = await ask('settle', `${nginx.facilitatorUrl}/api/v1/settle`, {
        headers: { ...headersOf(key), 'idempotency-key': idempotencyKey },
        body: request,
        isRight: ({ status, body }) => status === 200 && body['success'] === true,
      })
      if (verdict === 'done') {
        const end = answer?.body as unknown as SettleResult
        sales.push({ key, idempotencyKey, payment, end, at: Date.now() })
        return end
      }
      if (answer?.status === 200 && verdict === 'failed') return answer.body as unknown as SettleResult
    }
    return undefined
  }

  async function userLane() {
    const api = `${nginx.facilitatorUrl}/api/v1`
    const account = { email: `${randomUUID()}@example.com`, password: randomUUID() }
    const send = async (path: string, { token, body }: { token?: string; body?: unknown }) => {
      const { answer, verdict } = await ask('user', `${api}${path}`, {
        headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
        ...(body === undefined ? {} : { body }),
        isRight: ({ status }) => status === 200,
      })
      return verdict === 'done' ? (answer?.body['data'] as Record<string, string>) : undefined
    }
    await send('/signup', { body: account })
    const tokens = await send('/login', { body: account })
    if (!tokens) throw new Error('the user could not log in')
    const { refresh_token } = tokens
    let token = tokens['access_token'] ?? ''
    for (let n = 1; !isOver(); n++) {
      await send('/clients', { token })
      if (n % REFRESH_EVERY === 0)
        token = (await send('/token/refresh', { body: { refresh_token } }))?.['access_token'] ?? token
      await pause(SIGN_IN_PAUSE_MS)
    }
  }

  async function operatorLane() {
    while (!isOver()) {
      await ask('operator', `${nginx.facilitatorUrl}/admin/settlements?state=open`, {
        headers: { authorization: `Bearer ${secrets.adminToken}` },
        isRight: ({ status }) => status === 200,
      })
      await pause(SIGN_IN_PAUSE_MS)
    }
  }

  const ended = Promise.all([
    ...callers.map(sessionLane),
    accessKeyLane(keyOwner),
    strangerLane(),
    signInLane(),
    ...merchants.map(merchantLane),
    userLane(),
    operatorLane(),
  ])
  // Awaited by `stop`.
  ended.catch(() => undefined)

  async function unresolved() {
    const reserved = await ledger.count("FROM usage WHERE state = 'reserved'")
    const payments = await ledger.count("FROM payments WHERE status NOT IN ('credited', 'failed')")
    return reserved + payments + (await settlements.open())
  }

  return {
    sent: requests.sent,
    underWay: requests.underWay,
    chain,
    ledger,
    settlements,
    upstream,
    plan,
    customers: customers as readonly EvmCustomer[],
    purchases: purchases as readonly Purchase[],
    sales: sales as readonly Sale[],
    requests,
    /** What the clients use from now on. */
    secrets,
    /** A key that the facilitators have got since. */
    useSigner: (address: string) => void signers.push(address),

    /** Payments so far: those that were credited, and those that were settled for merchants. */
    async ended() {
      const credited = await ledger.count("FROM payments WHERE status = 'credited'")
      return { credited, settled: merchants.reduce((sum, { ended: all }) => sum + all.length, 0) }
    },

    async paid() {
      const { credited, settled } = await this.ended()
      return credited + settled
    },

    /** Ends the requests under way. Fails if a payment has had no outcome. */
    async stop() {
      stopping.abort()
      await ended
    },

    /** After `stop`: everything that was charged was served or refunded, and each payment is settled and credited once. */
    async audit(away: readonly string[] = []) {
      await until(unresolved, (count) => count === 0, RESOLVED_WITHIN_SECONDS)
      const called = await auditCalls({ round: 1, made, ledger, upstream, away })
      const money = await auditMoney(ledger, await chain.paidTo(plan.pay_to))
      const settled = await Promise.all(
        merchants.map(({ payTo, ended: all }) =>
          auditPayments({ payTo, ended: all, chain, ledger: settlements }),
        ),
      )
      const failures = settled.reduce((sum, one) => sum + one.failures, 0)
      return {
        problems: [
          ...called.problems,
          ...money.problems,
          ...settled.flatMap(({ problems }) => problems),
          ...(failures > 0 ? [`${failures} × a good payment of a merchant that failed`] : []),
          ...(await auditTransactions({ chain: { ...chain, signers }, ledger: settlements })),
        ],
        credited: money.credited,
        settled: settled.reduce((sum, one) => sum + one.successes, 0),
      }
    },
  }
}

/** The replica did not answer. */
const isOfProxy = ({ status }: Answer) => status === 502 || status === 504

const headersOf = ({ clientId, token }: ClientKey) => ({ 'x-client-id': clientId, 'x-client-token': token })

/** For reports: requests by verdict, and examples of the failed ones. */
export function countRequests(sent: Requests['sent']) {
  const count = (verdict: string) => sent.filter((one) => one.verdict === verdict).length
  const failed = sent.filter(({ verdict }) => verdict === 'failed')
  return {
    all: sent.length,
    pending: count('pending'),
    away: count('away'),
    failed: failed.length,
    examples: failed
      .slice(0, 5)
      .map(({ actor, startedAt, answer }) => `${new Date(startedAt).toISOString()} ${actor}: ${answer}`),
  }
}
