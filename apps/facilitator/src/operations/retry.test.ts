import { closeAll } from '@tollgate/testing'
import { once } from 'node:events'
import { linesOf, newOperator, signer, type Operator } from '../testing/operator'

let here: Operator
beforeAll(async () => (here = await newOperator()))
beforeEach(() => here.clear())
afterAll(closeAll)

describe('facilitator settlements retry', () => {
  const retriedIds = async () =>
    (
      await here.pool.query<{ id: bigint }>(
        'select id from settlements where retry_at is not null order by id',
      )
    ).rows.map(({ id }) => id)

  test('has all open ones tried again, and tells the facilitators of each network at once', async () => {
    const { signed, claimed, reversed, other } = await here.oneOfEach()
    const ids = [other, signed, claimed, reversed]
    const heard: string[] = []
    const listener = await here.pool.connect()
    try {
      listener.on('notification', ({ payload = '' }) => heard.push(payload))
      await listener.query('listen settlement_claimed')
      const told = once(listener, 'notification')
      const answer = await here.settlements('retry', ...ids.map(String), other.toString())
      expect([answer.code, answer.err]).toEqual([0, ''])
      expect(linesOf(answer).map((line) => line.split(/ {2,}/).slice(0, 2))).toEqual([
        [`${other}`, 'claimed'],
        [`${signed}`, 'signed'],
        [`${claimed}`, 'claimed'],
        [`${reversed}`, 'reversed'],
      ])
      expect(answer.out.match(/retried: /g)).toHaveLength(4)
      expect(linesOf(answer)[1]).toContain(
        'if the key of 0x222222..222222 was taken out, it goes on as it is',
      )
      await told
      // What was told in one transaction has come by the time of the next answer.
      await listener.query('select 1')
    } finally {
      listener.release(true)
    }
    expect(heard.sort()).toEqual(['base', 'base-sepolia'])
    expect(await retriedIds()).toEqual(ids.sort((a, b) => Number(a - b)))
  })

  test('refuses what is over and what there is not, each with why, and still does the others', async () => {
    const { claimed, settled, failed, forGood } = await here.oneOfEach()
    const { code, out } = await here.settlements(
      'retry',
      ...[settled, failed, forGood, 999n, claimed].map(String),
    )
    expect(code).toBe(1)
    expect(linesOf({ out })).toEqual([
      expect.stringMatching(/settled +refused: it is paid; there is nothing to do$/),
      expect.stringMatching(/failed +refused: it failed \(payment_expired\) and is never sent again/),
      expect.stringMatching(/reversed +refused: it is reversed for good \(invalid_transaction_state\)/),
      expect.stringMatching(/^999 +- +refused: there is no settlement with this id$/),
      expect.stringMatching(/claimed +retried: /),
    ])
    expect(await retriedIds()).toEqual([claimed])
  })

  test('refuses one whose payer signed the transaction whole, and leaves no wish that nobody carries out', async () => {
    const transactionId = await here.rows.transaction({ signer, nonce: null })
    const id = await here.settlement({ status: 'signed', transactionId })
    const { code, out } = await here.settlements('retry', String(id))
    expect([code, out]).toEqual([
      1,
      expect.stringMatching(/^1 +signed +refused: its payer signed the transaction whole/),
    ])
    expect((await here.pool.query('select retry_at from settlements')).rows).toEqual([{ retry_at: null }])
  })

  test('says so of one that comes to its end at this very moment', async () => {
    const { claimed } = await here.oneOfEach()
    const settler = await here.pool.connect()
    try {
      await settler.query('begin')
      await settler.query(
        `update settlements set status = 'failed', error_reason = 'payment_expired' where id = $1`,
        [claimed],
      )
      const retried = here.settlements('retry', claimed.toString())
      const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
      for (const until = Date.now() + 20_000; (await here.pool.query(waiting)).rowCount === 0;)
        if (Date.now() > until) throw new Error('the command did not wait for the settler')
      await settler.query('commit')
      expect(await retried).toMatchObject({
        code: 1,
        out: expect.stringContaining('refused: it came to its end this very moment') as string,
      })
    } finally {
      settler.release()
    }
    expect(await retriedIds()).toEqual([])
  })

  test('changes nothing of a settlement but that it is to be tried again', async () => {
    const { signed } = await here.oneOfEach()
    const all = async () => (await here.pool.query<object>('select * from settlements order by id')).rows
    const before = await all()
    await here.settlements('retry', signed.toString())
    const after = await all()
    expect(after.map((row) => ({ ...row, retry_at: null }))).toEqual(before)
  })
})
