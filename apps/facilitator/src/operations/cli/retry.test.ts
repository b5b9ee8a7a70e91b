import { closeAll } from '@tollgate/testing'
import { once } from 'node:events'
import { linesOf, newOperator, signer, type Operator } from '../../testing/operator'

let here: Operator
beforeAll(async () => (here = await newOperator()))
beforeEach(() => here.clear())
afterAll(closeAll)

describe('facilitator settlements retry', () => {
  const retriedIds = async () =>
    (
      await here.pool.query<{ id: bigint }>(
        'SELECT id FROM settlements WHERE retry_requested_at IS NOT NULL ORDER BY id',
      )
    ).rows.map(({ id }) => id)

  test('retries all open settlements and notifies the settlers of each network', async () => {
    const { signed, claimed, reversed, other } = await here.oneOfEach()
    const ids = [other, signed, claimed, reversed]
    const heard: string[] = []
    const listener = await here.pool.connect()
    try {
      listener.on('notification', ({ payload = '' }) => heard.push(payload))
      await listener.query('LISTEN settlement_claimed')
      const notified = once(listener, 'notification')
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
        'if the key of 0x222222..222222 is no longer configured, the transaction is resent as it is',
      )
      await notified
      // The notifications of one transaction arrive before the next query result.
      await listener.query('SELECT 1')
    } finally {
      listener.release(true)
    }
    expect(heard.sort()).toEqual(['base', 'base-sepolia'])
    expect(await retriedIds()).toEqual(ids.sort((a, b) => Number(a - b)))
  })

  test('refuses completed and unknown settlements with the reason, and retries the others', async () => {
    const { claimed, settled, failed, forGood } = await here.oneOfEach()
    const { code, out } = await here.settlements(
      'retry',
      ...[settled, failed, forGood, 999n, claimed].map(String),
    )
    expect(code).toBe(1)
    expect(linesOf({ out })).toEqual([
      expect.stringMatching(/settled +refused: it is settled$/),
      expect.stringMatching(/failed +refused: it failed \(payment_expired\) and is never sent again/),
      expect.stringMatching(/reversed +refused: it is reversed for good \(invalid_transaction_state\)/),
      expect.stringMatching(/^999 +- +refused: there is no such settlement$/),
      expect.stringMatching(/claimed +retried: /),
    ])
    expect(await retriedIds()).toEqual([claimed])
  })

  test('refuses a transaction signed by its payer, and records no retry', async () => {
    const transactionId = await here.rows.transaction({ signer, nonce: null })
    const id = await here.settlement({ status: 'signed', transactionId })
    const { code, out } = await here.settlements('retry', String(id))
    expect([code, out]).toEqual([
      1,
      expect.stringMatching(/^1 +signed +refused: the payer signed the transaction/),
    ])
    expect((await here.pool.query('SELECT retry_requested_at FROM settlements')).rows).toEqual([
      { retry_requested_at: null },
    ])
  })

  test('refuses a settlement that completes concurrently', async () => {
    const { claimed } = await here.oneOfEach()
    const settler = await here.pool.connect()
    try {
      await settler.query('BEGIN')
      await settler.query(
        `UPDATE settlements SET status = 'failed', error_reason = 'payment_expired' WHERE id = $1`,
        [claimed],
      )
      const retried = here.settlements('retry', claimed.toString())
      const waiting = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`
      for (const until = Date.now() + 20_000; (await here.pool.query(waiting)).rowCount === 0;)
        if (Date.now() > until) throw new Error('the command did not wait for the settler')
      await settler.query('COMMIT')
      expect(await retried).toMatchObject({
        code: 1,
        out: expect.stringContaining('refused: it completed just now') as string,
      })
    } finally {
      settler.release()
    }
    expect(await retriedIds()).toEqual([])
  })

  test('changes nothing but the retry time', async () => {
    const { signed } = await here.oneOfEach()
    const all = async () => (await here.pool.query<object>('SELECT * FROM settlements ORDER BY id')).rows
    const before = await all()
    await here.settlements('retry', signed.toString())
    const after = await all()
    expect(after.map((row) => ({ ...row, retry_requested_at: null }))).toEqual(before)
  })
})
