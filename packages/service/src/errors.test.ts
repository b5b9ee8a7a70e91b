import { z } from 'zod'
import { ApiError, type ErrorCode, parse } from './errors'

function refusal(schema: z.ZodType, input: unknown, code?: ErrorCode): ApiError {
  try {
    parse(schema, input, code)
  } catch (error) {
    if (error instanceof ApiError) return error
    throw error
  }
  throw new Error('parse did not throw')
}

const Rpc = z.object({
  chain_id: z.string(),
  transport: z.enum(['rpc', 'rest']),
  payment: z.object({ amount: z.string().regex(/^\d+$/, 'expected digits only') }),
  wallets: z.array(z.object({ id: z.number() })),
})

describe('parse', () => {
  test('returns the output of the schema', () => {
    expect(parse(z.object({ limit: z.coerce.number().default(20) }), {})).toEqual({ limit: 20 })
  })

  test('names each field and its expected type, and repeats no value', () => {
    const error = refusal(Rpc, {
      transport: 'secret',
      payment: { amount: 'secret' },
      wallets: [{ id: 1 }, { id: 'secret' }],
    })
    expect([error.code, error.status]).toEqual(['INVALID_REQUEST', 400])
    expect(error.message).toContain('chain_id: missing, expected string')
    expect(error.message).toContain('transport: Invalid option: expected one of "rpc"|"rest"')
    expect(error.message).toContain('payment.amount: expected digits only')
    expect(error.message).toContain('wallets[1].id: expected number, received string')
    expect(error.message).not.toContain('secret')
  })

  test('reports a missing body', () => {
    expect(refusal(Rpc, undefined).message).toContain('the body: missing, expected object')
  })

  test('names the field of the closest union member', () => {
    const schema = z.object({
      payload: z.union([z.array(z.string()), z.object({ call: z.object({ id: z.number() }) })]),
    })
    expect(refusal(schema, { payload: { call: {} } }).message).toContain(
      'payload.call.id: missing, expected number',
    )
  })

  test('limits the message for huge input', () => {
    const input = Object.fromEntries(
      Array.from({ length: 10_000 }, (_, index) => [`${index}`.repeat(1_000), 1]),
    )
    expect(refusal(z.record(z.string().max(3), z.string()), input).message.length).toBeLessThan(6_000)
    expect(refusal(z.strictObject({}), input).message.length).toBeLessThan(1_000)
  })

  test('uses the given code', () => {
    expect(refusal(z.string(), 1, 'INVALID_PAYLOAD').code).toBe('INVALID_PAYLOAD')
  })
})
