import { type NonceAnswer, type SessionTokens } from '@tollgate/protocol'
import { hexlify, randomBytes, Wallet } from 'ethers'
import type supertest from 'supertest'
import { planOf } from './catalog'
import { type Clock } from './clock'
import { paymentHeader, signPayment, type Authorization } from './payment'

type Api = ReturnType<typeof supertest>
type Login = Record<string, unknown>

export type TestWallet = ReturnType<typeof createWallet>
export type TestSession = Awaited<ReturnType<TestWallet['signIn']>>

/** The sign-in text of the gateway's own form. */
export const signInText = (parts: { address: string; nonce: string; issuedAt: string; domain?: string }) =>
  [
    `${parts.domain ?? 'Tollgate'} wants you to sign in.`,
    '',
    `Address: ${parts.address}`,
    `Nonce: ${parts.nonce}`,
    `Issued At: ${parts.issuedAt}`,
  ].join('\n')

/** A wallet with a key of its own, that really signs: sign-in messages and payments. */
export function createWallet({ api, clock }: { api: Api; clock: Clock }) {
  const signer = new Wallet(hexlify(randomBytes(32)))
  const { address } = signer

  async function nonce(): Promise<string> {
    const answer = await api.get('/auth/nonce').query({ address }).expect(200)
    return (answer.body as NonceAnswer).nonce
  }

  /** The body of a login, its message signed as it stands. */
  async function signed(message: string, changes: Login = {}) {
    return {
      message,
      signature: await signer.signMessage(message),
      address,
      auth_method: 'siwe',
      x402_chain_id: '84532',
      x402_ecosystem: 'evm',
      pricing_plan_id: 1,
      ...changes,
    }
  }

  /** A login that will do, but for the changes: those of its text are made before it is signed. */
  async function login(changes: Login = {}, text: Partial<Parameters<typeof signInText>[0]> = {}) {
    const issuedAt = clock.now().toISOString()
    return signed(signInText({ address, nonce: text.nonce ?? (await nonce()), issuedAt, ...text }), changes)
  }

  async function signIn(changes: Login = {}) {
    const answer = await api
      .post('/auth/login')
      .send(await login(changes))
      .expect(200)
    const tokens = answer.body as SessionTokens
    return { ...tokens, call: callWith(api, tokens.token) }
  }

  return {
    address,
    signer,
    nonce,
    signed,
    login,
    signIn,
    /** The `X-PAYMENT` for a plan. */
    pay: async (plan = planOf(), changes: Partial<Authorization> = {}) =>
      paymentHeader(await signPayment(signer, { payTo: plan.pay_to, amount: plan.amount }, changes)),
  }
}

type Call = {
  chain_id?: string
  ecosystem?: string
  resource?: string
  method?: string
  transport?: string
  payload?: unknown
  payment?: string
}

/** A call of `POST /rpc`: a read on chain 84532. */
export const blockNumberCall = {
  ecosystem: 'evm',
  chain_id: '84532',
  resource: '',
  method: 'POST',
  transport: 'rpc',
  payload: { jsonrpc: '2.0', id: 1, method: 'eth_blockNumber', params: [] },
}

/** `POST /rpc` with a bearer token: that call, but for the changes. */
export const callWith =
  (api: Api, token: string) =>
  ({ payment, ...changes }: Call = {}) => {
    const request = api.post('/rpc').set('Authorization', `Bearer ${token}`)
    if (payment !== undefined) void request.set('X-PAYMENT', payment)
    return request.send({ ...blockNumberCall, ...changes })
  }
