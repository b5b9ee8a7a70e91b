import { decodeJson, type SettleResult } from '@tollgate/protocol'
import { balanceOf } from './accounts'
import { planOf } from './catalog'
import { auditAndClose, testGateway, type TestGateway } from './gateway'
import { post } from './plain'

type Call = {
  payment?: string
  chain?: string
  body?: unknown
  /** The client's address. */
  from?: string
  at?: TestGateway
  name?: string
}

/** Two replicas that see their clients' addresses, for the tests of a file, and calls at their plain URLs without a sign-in. */
export function payPerRequest() {
  const environment = { TRUSTED_PROXIES: 1 }
  let replicas: { gateway: TestGateway; replica: TestGateway } | undefined
  const started = () => {
    if (!replicas) throw new Error('The replicas start before the first test')
    return replicas
  }
  beforeAll(async () => {
    const gateway = await testGateway({ environment })
    replicas = { gateway, replica: await testGateway({ beside: gateway, environment }) }
  })
  afterAll(() => auditAndClose(started().gateway, started().replica))

  return {
    get gateway() {
      return started().gateway
    },
    get replica() {
      return started().replica
    },

    call: ({ payment, chain = '84532', body, from, at = started().gateway, name = 'x-payment' }: Call = {}) =>
      post(at.api, `/v1/${chain}`, body, {
        ...(payment === undefined ? {} : { [name]: payment }),
        ...(from === undefined ? {} : { 'x-forwarded-for': from }),
      }),

    /** A new wallet, and the payment that it signed for the plan. */
    async newPayer() {
      const { gateway } = started()
      const wallet = gateway.wallet()
      return {
        ...wallet,
        payment: await wallet.pay(planOf()),
        balance: () => balanceOf(gateway.ledger, wallet.address),
      }
    },

    /** Of the payer's payments. */
    async statesOf(payer: string) {
      const { rows } = await started().gateway.pool.query<{ status: string; call_state: string }>(
        'SELECT status, call_state FROM payments WHERE payer = $1',
        [payer],
      )
      return rows
    },
  }
}

export const receiptIn = ({ headers }: { headers: Record<string, string> }) =>
  decodeJson(headers['x-payment-response'] ?? '') as SettleResult

export const errorIn = (answer: { status: number; body: unknown }) => [
  answer.status,
  (answer.body as { error?: string }).error,
]

export const USED = [402, 'duplicate_settlement']
