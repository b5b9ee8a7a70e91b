import { type GatewayDatabase } from '@tollgate/database'
import { type EphemeralStore } from '@tollgate/service'
import { z } from 'zod'
import { type IdentifiedPayment } from '../extensions/payment-identifier'
import { type Answer } from '../rpc/upstream/upstream-exchange'

const ANSWER_TTL_SECONDS = 3_600
const MAX_ANSWER_BYTES = 8_192

/** $1 payer, $2 id, $3 fingerprint, $4 payment. What is stored first stays; a payment has one identifier. */
const REMEMBER = `
INSERT INTO payment_identifiers (payer, id, fingerprint, payment_id) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING`

const FIND = 'SELECT fingerprint FROM payment_identifiers WHERE payer = $1 AND id = $2'

const StoredAnswer = z.object({
  status: z.int(),
  headers: z.record(z.string(), z.union([z.string(), z.array(z.string())])),
  body: z.base64(),
})

export type IdentifiedPayments = ReturnType<typeof createIdentifiedPayments>

/** Payments with an identifier: their fingerprints, and for an hour the answers that they paid for, as far as these are short. */
export function createIdentifiedPayments({ pool }: Pick<GatewayDatabase, 'pool'>, store: EphemeralStore) {
  const keyOf = (payer: string, id: string) => `answer:${payer}:${id}`

  async function findFingerprint(payer: string, id: string): Promise<string | undefined> {
    const values = [payer, id]
    const { rows } = await pool.query<{ fingerprint: string }>({
      name: 'find-payment-identifier',
      text: FIND,
      values,
    })
    return rows[0]?.fingerprint
  }

  return {
    findFingerprint,

    /** Of a credited payment that was recorded without an identifier. Returns the fingerprint that its identifier has; undefined if the payment has another one. */
    async remember({ payer, id, fingerprint, paymentId }: IdentifiedPayment): Promise<string | undefined> {
      const values = [payer, id, fingerprint, paymentId]
      const text = REMEMBER
      const { rowCount } = await pool.query({ name: 'remember-payment-identifier', text, values })
      return rowCount === 1 ? fingerprint : findFingerprint(payer, id)
    },

    /** Best effort: without the answer, a repeated request is refused as used. */
    async storeAnswer(payer: string, id: string, { status, headers, body, rest }: Answer): Promise<void> {
      if (rest || body.length > MAX_ANSWER_BYTES) return
      const text = JSON.stringify({ status, headers, body: body.toString('base64') })
      await store.set(keyOf(payer, id), text, ANSWER_TTL_SECONDS).catch(() => undefined)
    },

    async findAnswer(payer: string, id: string): Promise<Answer | undefined> {
      const text = await store.get(keyOf(payer, id)).catch(() => undefined)
      if (text === undefined) return undefined
      const { data } = StoredAnswer.safeParse(JSON.parse(text))
      return data && { ...data, body: Buffer.from(data.body, 'base64'), rest: undefined }
    },
  }
}
