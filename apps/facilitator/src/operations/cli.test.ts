import { createDatabase, openFacilitatorDatabase, openGatewayDatabase, type Pool } from '@tollgate/database'
import { closeAll, closeLater, migratedDatabase } from '@tollgate/testing'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { settlementRows } from '../testing/settlement-rows'
import { main } from './cli'

let DATABASE_URL: string
let pool: Pool
let rows: ReturnType<typeof settlementRows>
let clientId: string

beforeAll(async () => {
  DATABASE_URL = await migratedDatabase('facilitator')
  const database = openFacilitatorDatabase({ url: DATABASE_URL, poolSize: 2 })
  closeLater(() => database.close())
  pool = database.pool
  rows = settlementRows(pool)
  clientId = await rows.client(await rows.user('shop@example.com'), 'The "Shop"')
  for (const network of ['base-sepolia', 'base']) await rows.asset(network)
})
beforeEach(async () => {
  await pool.query('truncate settlements, transactions, transaction_versions restart identity cascade')
})
afterAll(closeAll)

/** The command line without its process. */
async function facilitator(args: string[], environment: NodeJS.ProcessEnv = { DATABASE_URL }) {
  let [out, err] = ['', '']
  const code = await main(args, {
    environment,
    out: (text) => (out += text),
    err: (text) => (err += text),
  })
  expect(out + err).not.toMatch(/\n\s+at /)
  return { code, out, err }
}
const settlements = (...args: string[]) => facilitator(['settlements', ...args])
const linesOf = ({ out }: { out: string }) => out.trimEnd().split('\n')

const payer = '0x1111111111111111111111111111111111111111'
const signer = '0x2222222222222222222222222222222222222222'
const hashes = ['a', 'b'].map((digit) => `0x${digit.repeat(64)}`)

/** One in each state that there is, the open ones the older ones. */
async function oneOfEach() {
  const transactionId = await rows.transaction({ signer, nonce: 7n, versions: hashes })
  const mined = await rows.transaction({ signer, nonce: 6n, status: 'mined' })
  const of = (row: Parameters<typeof rows.settlement>[1]) => rows.settlement(clientId, row)
  return {
    signed: await of({ status: 'signed', transactionId, ageSeconds: 192, payer }),
    claimed: await of({ ageSeconds: 400, attempts: 3, problem: 'waits\nfor \u001b[31mfunds' }),
    reversed: await of({ status: 'reversed', ageSeconds: 90_000, isHandedOut: true }),
    other: await of({ network: 'base', ageSeconds: 5 }),
    settled: await of({ status: 'settled', transactionId: mined }),
    failed: await of({ status: 'failed', errorReason: 'payment_expired' }),
    lost: await of({ status: 'reversed', errorReason: 'invalid_transaction_state', isHandedOut: true }),
  }
}

describe('facilitator', () => {
  test.each([
    [['--help'], 'settlements list'],
    [['settlements', '--help'], 'settlements list'],
    [['settlements', 'list', '--help'], '--older-than'],
    [['settlements', 'show', '-h'], 'every version that was signed'],
    [['settlements', 'retry', '--help'], 'no payment is ever made twice'],
  ])('says what it can do: %j', async (args, words) => {
    const { code, out, err } = await facilitator(args, {})
    expect([code, err]).toEqual([0, ''])
    expect(out).toContain(words)
    expect(out).toContain('Exit codes: 0 done, 1 refused or failed, 2 not understood')
  })

  test.each([
    [[], 'what is to be done was not said'],
    [['serve'], 'there is no command "serve"'],
    [['settlements'], 'settlements what?'],
    [['settlements', 'constructor'], 'there is no "settlements constructor"'],
    [['settlements', 'list', '5'], 'did not understand "5"'],
    [['settlements', 'list', '--state', 'settled'], '--state is one of claimed, signed, reversed'],
    [['settlements', 'list', '--limit', '0'], '--limit wants a whole number from 1'],
    [['settlements', 'list', '--limit', '1e9'], '--limit wants a whole number'],
    [['settlements', 'list', '--older-than', '-1'], '--older-than'],
    [['settlements', 'list', '--all'], '--all'],
    [['settlements', 'show'], 'settlements show wants one id'],
    [['settlements', 'show', '1', '2'], 'settlements show wants one id'],
    [['settlements', 'show', '0x1'], '"0x1" is not the id of a settlement'],
    [['settlements', 'retry'], 'settlements retry wants at least one id'],
    [['settlements', 'retry', '1', '9223372036854775808'], '"9223372036854775808" is not the id'],
    [['settlements', 'retry', '1', '--force'], '--force'],
  ])('answers 2, the reason and its help to %j', async (args, reason) => {
    const { code, out, err } = await facilitator(args)
    expect([code, out]).toEqual([2, ''])
    expect(err).toContain(reason)
    expect(err).toContain('Exit codes:')
  })

  test('answers 78 where it is not told which database', async () => {
    const { code, err } = await facilitator(['settlements', 'list'], {})
    expect([code, err]).toEqual([78, expect.stringContaining('DATABASE_URL is not set')])
  })

  test('says of a database without tables what is to be done first, and never its password', async () => {
    const url = DATABASE_URL.replace(/test_\w+$/, `empty_${Date.now()}`)
    await createDatabase(url)
    const { code, err } = await facilitator(['settlements', 'list'], { DATABASE_URL: url })
    const { password, pathname } = new URL(url)
    const server = openGatewayDatabase({ url: url.replace(pathname, '/postgres'), poolSize: 1 })
    closeLater(() => server.close())
    await server.pool.query(`drop database ${pathname.slice(1)} with (force)`)
    expect([code, err]).toEqual([1, expect.stringContaining('run its migrations first')])
    if (password !== '') expect(err).not.toContain(password)
  })
})

describe('facilitator settlements list', () => {
  test('tells what is open, oldest first, a line each in columns, and nothing that is over', async () => {
    const { signed, claimed, reversed, other } = await oneOfEach()
    const { code, out, err } = await settlements('list')
    expect([code, err]).toEqual([0, ''])
    const [head = '', ...lines] = linesOf({ out })
    const column = (name: string) =>
      lines.map((line) => line.slice(head.indexOf(name)).split('  ')[0]!.trimEnd())
    expect(column('ID')).toEqual([reversed, claimed, signed, other].map(String))
    expect(column('STATE')).toEqual(['reversed', 'claimed', 'signed', 'claimed'])
    expect(column('NETWORK')).toEqual(['base-sepolia', 'base-sepolia', 'base-sepolia', 'base'])
    expect(column('AGE')).toEqual(['1 d 1 h', '6 min 40 s', '3 min 12 s', '5 s'])
    expect(column('AMOUNT')).toEqual(Array(4).fill('0.01 USDC'))
    expect(column('SIGNER')).toEqual(['-', '-', '0x222222..222222', '-'])
    expect(column('NONCE')).toEqual(['-', '-', '7', '-'])
    expect(column('TRANSACTION')[2]).toBe('0xbbbbbb..bbbbbb')
    expect(column('SENT')).toEqual(['0', '3', '0', '0'])
    expect(lines[2]).toContain('0x111111..111111')
  })

  test('shows what others wrote in one line, and sends no terminal a command of theirs', async () => {
    await oneOfEach()
    const { out } = await settlements('list')
    expect(out).toContain('waits for [31mfunds')
    expect(out).not.toContain('\u001b')
    expect(linesOf({ out })).toHaveLength(5)
  })

  test.each([
    [['--network', 'base'], ['other']],
    [['--state', 'signed'], ['signed']],
    [
      ['--older-than', '300'],
      ['reversed', 'claimed'],
    ],
    [['--older-than', '300', '--state', 'claimed', '--network', 'base-sepolia'], ['claimed']],
  ])('narrows the list: %j', async (options, names) => {
    const ids = (await oneOfEach()) as Record<string, bigint>
    const { out } = await settlements('list', '--json', ...options)
    const found = JSON.parse(out) as { settlements: { id: number }[]; total: number }
    expect(found.settlements.map(({ id }) => BigInt(id))).toEqual(names.map((name) => ids[name]))
    expect(found.total).toBe(names.length)
  })

  test('says that nothing is open, in so many words', async () => {
    expect(await settlements('list')).toEqual({ code: 0, out: 'nothing is open\n', err: '' })
    expect(await settlements('list', '--state', 'signed', '--older-than', '60')).toMatchObject({
      out: 'nothing is open that is signed and is older than 60 s\n',
    })
  })

  test('shows a hundred unless told, and says how many more there are', async () => {
    for (let i = 0; i < 103; i++) await rows.settlement(clientId, { ageSeconds: 200 - i })
    const all = linesOf(await settlements('list'))
    expect([all.length, all.at(-1)]).toEqual([102, 'and 3 more; --limit 103 shows all'])
    const two = linesOf(await settlements('list', '--limit', '2'))
    expect([two.length, two[1]?.slice(0, 4), two.at(-1)]).toEqual([
      4,
      '1   ',
      'and 101 more; --limit 103 shows all',
    ])
    const { total, settlements: found } = JSON.parse((await settlements('list', '--json')).out) as {
      total: number
      settlements: unknown[]
    }
    expect([total, found.length]).toEqual([103, 100])
  })

  test('gives as JSON what a program needs, with money in digits', async () => {
    const { signed } = await oneOfEach()
    const { out } = await settlements('list', '--json', '--state', 'signed')
    expect(JSON.parse(out)).toEqual({
      settlements: [
        {
          id: Number(signed),
          network: 'base-sepolia',
          state: 'signed',
          ageSeconds: expect.any(Number) as number,
          payer,
          amount: '10000',
          symbol: 'USDC',
          decimals: 6,
          signer,
          nonce: 7,
          transactionHash: hashes[1],
          attempts: 0,
          problem: null,
        },
      ],
      total: 1,
    })
  })
})

describe('facilitator settlements show', () => {
  test('shows a settlement with its client, its transaction and all versions of it, the newest told', async () => {
    const { signed } = await oneOfEach()
    const { code, out, err } = await settlements('show', signed.toString())
    expect([code, err]).toEqual([0, ''])
    expect(out).toMatch(new RegExp(`^Settlement ${signed}: signed\n`))
    const facts = new Map(
      out
        .split('\n')
        .filter((line) => line.startsWith('  '))
        .map((line) => line.trim().split(/ {2,}/) as [string, string]),
    )
    expect(Object.fromEntries(facts)).toMatchObject({
      network: 'base-sepolia',
      amount: expect.stringMatching(/^0\.01 USDC \(10000 of 0x/) as string,
      payer,
      client: `${clientId} "The \\"Shop\\""`,
      claimed: expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC, 3 min \d+ s ago$/) as string,
      transaction: 'signed',
      signer,
      nonce: '7',
      'version 1': expect.stringMatching(new RegExp(`^${hashes[0]}, signed .* UTC$`)) as string,
      'version 2': expect.stringMatching(new RegExp(`^${hashes[1]}, signed .* UTC, the newest$`)) as string,
    })
  })

  test('tells in each state what to expect next', async () => {
    const ids = await oneOfEach()
    const own = await rows.transaction({ nonce: null })
    const waiting = await rows.transaction({ nonce: 8n, isBroadcast: false })
    const lost = await rows.transaction({ nonce: 9n, status: 'lost' })
    const confirming = await rows.transaction({ nonce: 10n, status: 'mined' })
    const freed = await rows.settlement(clientId, { attempts: 1, isHandedOut: true })
    const signed = (transactionId: bigint) => rows.settlement(clientId, { status: 'signed', transactionId })
    const expected: [bigint, RegExp][] = [
      [ids.other, /waits to be signed.* Nothing was sent for it/],
      [ids.claimed, /came to nothing.* The problem above is what it waits for.* "retry" sends it once more/],
      [ids.signed, /waits to be mined.*higher fees under the same nonce/],
      [await signed(own), /payer's own transaction waits to be mined.*never with other fees/],
      [await signed(waiting), /no node has taken it yet/],
      [await signed(lost), /Another transaction took the nonce/],
      [await signed(confirming), /is mined and waits for confirmations/],
      [ids.settled, /over, and paid.*Nobody was told.*still watched/],
      [ids.failed, /over, and the payer was not charged.*may sign a new payment/],
      [freed, /told that it succeeded; then a reorg dropped it/],
      [ids.reversed, /reorg dropped it.*is sent again.*client was told that it succeeded/],
      [ids.lost, /nobody can settle it any more.*Whoever delivered for it was not paid/],
    ]
    for (const [id, words] of expected) {
      const { code, out } = await settlements('show', id.toString())
      const next = out.split('\n\n').at(-1)?.trim()
      expect([code, next?.replaceAll('\n', ' ')]).toEqual([0, expect.stringMatching(words)])
      for (const line of next?.split('\n') ?? []) expect(line.length).toBeLessThanOrEqual(100)
      const shown = JSON.parse((await settlements('show', id.toString(), '--json')).out) as { next: string }
      expect(shown.next).toMatch(words)
    }
  })

  test('never shows what the payer signed, nor a hash of a token', async () => {
    const { signed } = await oneOfEach()
    await pool.query(
      `update settlements set payload = '"a signature"'; update transactions set raw = 'a signature'`,
    )
    const { rows: found } = await pool.query<{ hash: string }>(
      `select encode(token_hash, 'hex') as hash from clients`,
    )
    for (const more of [[], ['--json']]) {
      const { out } = await settlements('show', signed.toString(), ...more)
      expect(out).toContain(clientId)
      for (const secret of ['a signature', found[0]!.hash]) expect(out).not.toContain(secret)
    }
  })

  test('answers 1 to an id that there is not', async () => {
    expect(await settlements('show', '999')).toEqual({
      code: 1,
      out: '',
      err: 'facilitator: there is no settlement 999\n',
    })
  })
})

describe('facilitator settlements retry', () => {
  const retriedIds = async () =>
    (
      await pool.query<{ id: bigint }>('select id from settlements where retry_at is not null order by id')
    ).rows.map(({ id }) => id)

  test('has all open ones tried again, and tells the facilitators of each network at once', async () => {
    const { signed, claimed, reversed, other } = await oneOfEach()
    const ids = [other, signed, claimed, reversed]
    const heard: string[] = []
    const listener = await pool.connect()
    try {
      listener.on('notification', ({ payload = '' }) => heard.push(payload))
      await listener.query('listen settlement_claimed')
      const told = once(listener, 'notification')
      const answer = await settlements('retry', ...ids.map(String), other.toString())
      expect([answer.code, answer.err]).toEqual([0, ''])
      expect(linesOf(answer).map((line) => line.split(/ {2,}/).slice(0, 2))).toEqual([
        [`${other}`, 'claimed'],
        [`${signed}`, 'signed'],
        [`${claimed}`, 'claimed'],
        [`${reversed}`, 'reversed'],
      ])
      expect(answer.out.match(/retried: /g)).toHaveLength(4)
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
    const { claimed, settled, failed, lost } = await oneOfEach()
    const { code, out } = await settlements('retry', ...[settled, failed, lost, 999n, claimed].map(String))
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
    const transactionId = await rows.transaction({ signer, nonce: null })
    const id = await rows.settlement(clientId, { status: 'signed', transactionId })
    const { code, out } = await settlements('retry', String(id))
    expect([code, out]).toEqual([
      1,
      expect.stringMatching(/^1 +signed +refused: its payer signed the transaction whole/),
    ])
    expect((await pool.query('select retry_at from settlements')).rows).toEqual([{ retry_at: null }])
  })

  test('says so of one that comes to its end at this very moment', async () => {
    const { claimed } = await oneOfEach()
    const settler = await pool.connect()
    try {
      await settler.query('begin')
      await settler.query(
        `update settlements set status = 'failed', error_reason = 'payment_expired' where id = $1`,
        [claimed],
      )
      const retried = settlements('retry', claimed.toString())
      const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
      for (const until = Date.now() + 20_000; (await pool.query(waiting)).rowCount === 0;)
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
    const { signed } = await oneOfEach()
    const all = async () => (await pool.query<object>('select * from settlements order by id')).rows
    const before = await all()
    await settlements('retry', signed.toString())
    const after = await all()
    expect(after.map((row) => ({ ...row, retry_at: null }))).toEqual(before)
  })
})

test('bin/facilitator.js is that command line', async () => {
  const bin = join(__dirname, '../../bin/facilitator.js')
  const runBin = (args: string[], env: NodeJS.ProcessEnv = {}) =>
    new Promise<unknown[]>((resolve) =>
      execFile(
        process.execPath,
        [bin, ...args],
        { env: { PATH: process.env.PATH, ...env } },
        (error, out, err) => resolve([error?.code ?? 0, out, err]),
      ),
    )
  const id = (await rows.settlement(clientId, { ageSeconds: 60 })).toString()
  const env = { DATABASE_URL }
  expect(await runBin(['settlements', 'list'], env)).toEqual([
    0,
    expect.stringMatching(/^ID .*\n1 .*\n$/),
    '',
  ])
  expect(await runBin(['settlements', 'show', id], env)).toEqual([
    0,
    expect.stringContaining(`Settlement ${id}: claimed`),
    '',
  ])
  expect(await runBin(['settlements', 'retry', id], env)).toEqual([
    0,
    expect.stringContaining('retried: '),
    '',
  ])
  expect(await runBin(['settlements', 'retry', id, '999'], env)).toEqual([
    1,
    expect.stringContaining('999'),
    '',
  ])
  expect(await runBin(['settlements'], env)).toEqual([2, '', expect.stringContaining('settlements what?')])
  expect(await runBin(['settlements', 'list'])).toEqual([78, '', expect.stringContaining('DATABASE_URL')])
})
