import { closeAll } from '@tollgate/testing'
import { columnOf, hashes, linesOf, newOperator, payer, signer, type Operator } from '../../testing/operator'

let here: Operator
beforeAll(async () => (here = await newOperator()))
beforeEach(() => here.clear())
afterAll(closeAll)

const otherHash = `0x${'c'.repeat(64)}`

describe('facilitator settlements list', () => {
  test('lists open settlements only, oldest first', async () => {
    const { signed, claimed, reversed, other } = await here.oneOfEach()
    const { code, out, err } = await here.settlements('list')
    expect([code, err]).toEqual([0, ''])
    const all = linesOf({ out })
    const column = (heading: string) => columnOf(all, heading)
    expect(column('ID')).toEqual([reversed, claimed, signed, other].map(String))
    expect(column('STATE')).toEqual(['reversed', 'claimed', 'signed', 'claimed'])
    expect(column('NETWORK')).toEqual(['base-sepolia', 'base-sepolia', 'base-sepolia', 'base'])
    expect(column('AGE')).toEqual(['1 d 1 h', '6 min 40 s', '3 min 12 s', '5 s'])
    expect(column('AMOUNT')).toEqual(Array(4).fill('0.01 USDC'))
    expect(column('SIGNER')).toEqual(['-', '-', '0x222222..222222', '-'])
    expect(column('NONCE')).toEqual(['-', '-', '7', '-'])
    expect(column('TRANSACTION')[2]).toBe('0xbbbbbb..bbbbbb')
    expect(column('SENT')).toEqual(['0', '3', '0', '0'])
    expect(column('PAYER')[2]).toBe('0x111111..111111')
  })

  test('prints untrusted text in one line without control characters', async () => {
    await here.oneOfEach()
    const { out } = await here.settlements('list')
    expect(out).toContain('waits for [31mfunds')
    expect(out).not.toContain('\u001b')
    expect(linesOf({ out })).toHaveLength(5)
  })

  test.each([
    [['--network', 'base'], ['other']],
    [['--state', 'signed'], ['signed']],
    [['--state', 'reversed'], ['reversed']],
    [['--state', 'reversed-final'], ['forGood']],
    [['--state', 'reversed-final', '--network', 'base'], []],
    [['--state', 'reversed-final', '--older-than', '300'], []],
    [
      ['--older-than', '300'],
      ['reversed', 'claimed'],
    ],
    [['--older-than', '300', '--state', 'claimed', '--network', 'base-sepolia'], ['claimed']],
  ])('narrows the list: %j', async (options, names) => {
    const ids = (await here.oneOfEach()) as Record<string, bigint>
    const { out } = await here.settlements('list', '--json', ...options)
    const found = JSON.parse(out) as { settlements: { id: number }[]; total: number }
    expect(found.settlements.map(({ id }) => BigInt(id))).toEqual(names.map((name) => ids[name]))
    expect(found.total).toBe(names.length)
  })

  test('says that nothing is open', async () => {
    expect(await here.settlements('list')).toEqual({ code: 0, out: 'nothing is open\n', err: '' })
    expect(await here.settlements('list', '--state', 'signed', '--older-than', '60')).toMatchObject({
      out: 'nothing is open that is signed and is older than 60 s\n',
    })
    expect(await here.settlements('list', '--state', 'reversed-final', '--network', 'base')).toMatchObject({
      out: 'nothing was reversed for good that is on "base"\n',
    })
  })

  test('lists reversed-final settlements on demand, newest first', async () => {
    const { forGood } = await here.oneOfEach()
    const transactionId = await here.rows.transaction({ signer, nonce: 8n, versions: [otherHash] })
    const earlier = await here.settlement({
      status: 'reversed',
      errorReason: 'payment_expired',
      isReported: true,
      payer,
      transactionId,
      endedAt: '2026-11-22T04:31:10Z',
    })
    const { code, out, err } = await here.settlements('list', '--state', 'reversed-final')
    expect([code, err]).toEqual([0, ''])
    const all = linesOf({ out })
    const column = (heading: string) => columnOf(all, heading)
    expect(column('ID')).toEqual([forGood, earlier].map(String))
    expect(column('REVERSED')).toEqual([
      expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC$/) as string,
      '2026-11-22 04:31:10 UTC',
    ])
    expect(column('AMOUNT')).toEqual(['0.01 USDC', '0.01 USDC'])
    expect(column('PAYER')[1]).toBe('0x111111..111111')
    expect(column('CLIENT')).toEqual([here.clientId, here.clientId])
    expect(column('TRANSACTION')[1]).toBe('0xcccccc..cccccc')
    expect(column('REASON')).toEqual(['invalid_transaction_state', 'payment_expired'])

    const one = await here.settlements('list', '--state', 'reversed-final', '--limit', '1')
    expect([linesOf(one).length, linesOf(one).at(-1)]).toEqual([3, 'and 1 more; --limit 2 shows all'])
    const json = await here.settlements('list', '--state', 'reversed-final', '--json')
    expect(JSON.parse(json.out)).toMatchObject({
      settlements: [
        { id: Number(forGood), state: 'reversed', errorReason: 'invalid_transaction_state' },
        { id: Number(earlier), state: 'reversed', errorReason: 'payment_expired', clientId: here.clientId },
      ],
      total: 2,
    })
  })

  test('lists a hundred by default, and counts the others', async () => {
    for (let i = 0; i < 103; i++) await here.settlement({ ageSeconds: 200 - i })
    const all = linesOf(await here.settlements('list'))
    expect([all.length, all.at(-1)]).toEqual([102, 'and 3 more; --limit 103 shows all'])
    const two = linesOf(await here.settlements('list', '--limit', '2'))
    expect([two.length, two[1]?.slice(0, 4), two.at(-1)]).toEqual([
      4,
      '1   ',
      'and 101 more; --limit 103 shows all',
    ])
    const { total, settlements: found } = JSON.parse((await here.settlements('list', '--json')).out) as {
      total: number
      settlements: unknown[]
    }
    expect([total, found.length]).toEqual([103, 100])
  })

  test('prints JSON with amounts as strings', async () => {
    const { signed } = await here.oneOfEach()
    const { out } = await here.settlements('list', '--json', '--state', 'signed')
    expect(JSON.parse(out)).toEqual({
      settlements: [
        {
          id: Number(signed),
          network: 'base-sepolia',
          state: 'signed',
          ageSeconds: expect.any(Number) as number,
          updatedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/) as string,
          clientId: here.clientId,
          payer,
          amount: '10000',
          symbol: 'USDC',
          decimals: 6,
          signer,
          nonce: 7,
          transactionHash: hashes[1],
          attempts: 0,
          lastError: null,
          errorReason: null,
        },
      ],
      total: 1,
    })
  })
})
