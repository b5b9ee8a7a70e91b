import { outcomeOf } from './outcome'

export type Body = Record<string, unknown>
export type Send = (body: unknown) => PromiseLike<{ status: number; body: unknown }>

export const nonStrings = [null, 5, true, {}, ['x'], ['a@example.com', 'b@example.com']]

export async function expectRefused(send: Send, good: Body, field: string, wrong: readonly unknown[]) {
  for (const value of wrong) {
    const answer = await send({ ...good, [field]: value })
    expect([value, ...outcomeOf(answer)]).toEqual([value, 400, 'INVALID_REQUEST'])
    expect((answer.body as { message: string }).message).toMatch(
      new RegExp(String.raw`\b${field}(\[\d\])?: `),
    )
  }
}
