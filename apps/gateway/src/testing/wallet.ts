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

export const signInText = (parts: { address: string; nonce: string; issuedAt: string; domain?: string }) =>
  [
    `${parts.domain ?? 'Tollgate'} wants you to sign in.`,
    '',
    `Address: ${parts.address}`,
    `Nonce: ${parts.nonce}`,
    `Issued At: ${parts.issuedAt}`,
  ].join('\n')

/** `proofOf` returns the members of a login beside message and address. */
export function createLogins<Proof extends { signature: string }>(
  { api, clock }: { api: Api; clock: Clock },
  address: string,
  proofOf: (message: string) => Proof | Promise<Proof>,
) {
  async function nonce(): Promise<string> {
    const answer = await api.get('/auth/nonce').query({ address }).expect(200)
    return (answer.body as NonceAnswer).nonce
  }

  async function signed(message: string, changes: Login = {}) {
    return { message, address, ...(await proofOf(message)), ...changes }
  }

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
    return { ...tokens, call: createCall(api, tokens.token), buy: createBuy(api, tokens.token) }
  }

  return { nonce, signed, login, signIn }
}

export function createWallet(parts: { api: Api; clock: Clock }) {
  const signer = new Wallet(hexlify(randomBytes(32)))
  const { address } = signer

  return {
    address,
    signer,
    ...createLogins(parts, address, async (message) => ({
      signature: await signer.signMessage(message),
      auth_method: 'siwe',
      x402_chain_id: '84532',
      x402_ecosystem: 'evm',
      pricing_plan_id: 1,
    })),
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
  paymentSignature?: string
}

export const blockNumberCall = {
  ecosystem: 'evm',
  chain_id: '84532',
  resource: '',
  method: 'POST',
  transport: 'rpc',
  payload: { jsonrpc: '2.0', id: 1, method: 'eth_blockNumber', params: [] },
}

export const createBuy =
  (api: Api, token: string) =>
  (payment?: string, header = 'X-PAYMENT') => {
    const request = api.post('/credits').set('Authorization', `Bearer ${token}`)
    return payment === undefined ? request : request.set(header, payment)
  }

export const createCall =
  (api: Api, token: string) =>
  ({ payment, paymentSignature, ...changes }: Call = {}) => {
    const request = api.post('/rpc').set('Authorization', `Bearer ${token}`)
    if (payment !== undefined) void request.set('X-PAYMENT', payment)
    if (paymentSignature !== undefined) void request.set('PAYMENT-SIGNATURE', paymentSignature)
    return request.send({ ...blockNumberCall, ...changes })
  }
