import { decodeJson, type PaymentRequiredV2 } from '@tollgate/protocol'
import type supertest from 'supertest'

type Api = ReturnType<typeof supertest>
type Headers = Record<string, string>

export const blockNumber = { jsonrpc: '2.0', id: 1, method: 'eth_blockNumber', params: [] }

/** A call by a plain URL. */
export const post = (api: Api, path: string, body: unknown = blockNumber, headers: Headers = {}) =>
  api.post(path).set('Content-Type', 'application/json').set(headers).send(textOf(body))

const textOf = (body: unknown) => (typeof body === 'string' ? body : JSON.stringify(body))

export const offerIn = ({ headers }: { headers: Record<string, string> }) =>
  decodeJson(headers['payment-required'] ?? '') as PaymentRequiredV2
