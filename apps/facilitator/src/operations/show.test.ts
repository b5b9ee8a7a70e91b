import { closeAll } from '@tollgate/testing'
import { hashes, newOperator, payer, signer, type Operator } from '../testing/operator'

let here: Operator
beforeAll(async () => (here = await newOperator()))
beforeEach(() => here.clear())
afterAll(closeAll)

const factsOf = (out: string) =>
  out
    .split('\n')
    .filter((line) => line.startsWith('  '))
    .map((line) => line.trim().split(/ {2,}/) as [name: string, value: string])

describe('facilitator settlements show', () => {
  test('shows a settlement with its client, its transaction and all versions of it, the newest told', async () => {
    const { signed } = await here.oneOfEach()
    const { code, out, err } = await here.settlements('show', signed.toString())
    expect([code, err]).toEqual([0, ''])
    expect(out).toMatch(new RegExp(`^Settlement ${signed}: signed\n`))
    expect(Object.fromEntries(factsOf(out))).toMatchObject({
      network: 'base-sepolia',
      amount: expect.stringMatching(/^0\.01 USDC \(10000 of 0x/) as string,
      payer,
      client: `${here.clientId} "The \\"Shop\\""`,
      claimed: expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC, 3 min \d+ s ago$/) as string,
      transaction: 'signed',
      signer,
      nonce: '7',
      'version 1': expect.stringMatching(new RegExp(`^${hashes[0]}, signed .* UTC$`)) as string,
      'version 2': expect.stringMatching(new RegExp(`^${hashes[1]}, signed .* UTC, the newest$`)) as string,
    })
  })

  test('shows what was paid for each version, and each transaction that was mined in vain', async () => {
    const [inVain = '', replaced = '', mined = ''] = ['1', '2', '3'].map((digit) => `0x${digit.repeat(64)}`)
    const first = await here.rows.transaction({ nonce: 1n, status: 'final', fee: '900', versions: [inVain] })
    const second = await here.rows.transaction({
      signer,
      nonce: 2n,
      status: 'mined',
      fee: '700',
      versions: [replaced, mined],
    })
    const id = await here.settlement({ status: 'settled', transactionId: second, attempts: 2, fee: '1000' })
    await here.rows.charge(first, id, '300')
    await here.rows.charge(second, id, '700')

    const { out } = await here.settlements('show', id.toString())
    const facts = factsOf(out)
    expect(facts).toContainEqual(['sent in vain', '2 times, 1 mined'])
    expect(facts).toContainEqual(['fee', '1000, its share so far, in the smallest native unit'])
    expect(facts).toContainEqual(['in vain', `300 of the 900 for ${inVain}, in block 17`])
    expect(facts).toContainEqual(['to settle it', `700 of the 700 for ${mined}, in block 17`])
    const versions = Object.fromEntries(facts.filter(([name]) => name.startsWith('version')))
    expect(versions).toEqual({
      'version 1': expect.stringMatching(new RegExp(`^${replaced}, signed .* UTC$`)) as string,
      'version 2': expect.stringMatching(
        new RegExp(`^${mined}, signed .* UTC, mined, for a fee of 700$`),
      ) as string,
    })
    expect(JSON.parse((await here.settlements('show', id.toString(), '--json')).out)).toMatchObject({
      attempts: 2,
      fee: '1000',
      charges: [
        { hash: inVain, fee: '900', share: '300', settledIt: false },
        { hash: mined, fee: '700', share: '700', settledIt: true },
      ],
      transaction: {
        versions: [
          { hash: replaced, fee: null },
          { hash: mined, fee: '700' },
        ],
      },
    })
  })

  test('what was mined for one that somebody else settled was mined in vain, and so was what a failed one was in', async () => {
    const shared = await here.rows.transaction({ nonce: 1n, status: 'mined', fee: '500' })
    const [taken, failed] = [
      await here.settlement({ status: 'settled', transactionId: shared, transactionHash: hashes[0]! }),
      await here.settlement({ status: 'failed', transactionId: shared, errorReason: 'payment_expired' }),
    ]
    for (const id of [taken, failed]) {
      await here.rows.charge(shared, id, '250')
      const { out } = await here.settlements('show', id.toString())
      expect(factsOf(out)).toContainEqual(['sent in vain', 'once, 1 mined'])
      expect(factsOf(out)).toContainEqual([
        'in vain',
        expect.stringMatching(/^250 of the 500 for 0x[0-9a-f]{64}, in block 17$/) as string,
      ])
    }
  })

  test('a payer’s own transaction costs us nothing, and says so', async () => {
    const transactionId = await here.rows.transaction({ nonce: null, status: 'final', fee: '0' })
    const id = await here.settlement({ status: 'settled', transactionId })
    const { out } = await here.settlements('show', id.toString())
    expect(out).toMatch(/version 1 .*, mined, its fee paid by the payer\n/)
  })

  test('tells in each state what to expect next', async () => {
    const ids = await here.oneOfEach()
    const own = await here.rows.transaction({ nonce: null })
    const waiting = await here.rows.transaction({ nonce: 8n, isBroadcast: false })
    const lost = await here.rows.transaction({ nonce: 9n, status: 'lost' })
    const confirming = await here.rows.transaction({ nonce: 10n, status: 'mined' })
    const freed = await here.settlement({ attempts: 1, isHandedOut: true })
    const signed = (transactionId: bigint) => here.settlement({ status: 'signed', transactionId })
    const again = await here.settlement({ status: 'reversed', transactionId: own, isHandedOut: true })
    const expected: [bigint, RegExp][] = [
      [ids.other, /waits to be signed.* Nothing was sent for it/],
      [ids.claimed, /came to nothing.* The problem above is what it waits for.* "retry" sends it once more/],
      [
        ids.signed,
        /waits to be mined.*While the key of its signer is configured, it gets higher fees under the same nonce/,
      ],
      [await signed(own), /payer's own transaction waits to be mined.*never with other fees/],
      [await signed(waiting), /no node has taken it yet/],
      [await signed(lost), /Another transaction took the nonce/],
      [await signed(confirming), /is mined and waits for confirmations/],
      [ids.settled, /over, and paid.*Nobody was told.*still watched/],
      [ids.failed, /over, and the payer was not charged.*may sign a new payment/],
      [freed, /told that it succeeded; then a reorg dropped it/],
      [ids.reversed, /reorg dropped it.*is sent again.*client was told that it succeeded/],
      [again, /reorg dropped it.* payer’s own, and never sent with other fees/],
      [ids.forGood, /nobody can settle it any more.*Whoever delivered for it was not paid/],
    ]
    for (const [id, words] of expected) {
      const { code, out } = await here.settlements('show', id.toString())
      const next = out.split('\n\n').at(-1)?.trim()
      expect([code, next?.replaceAll('\n', ' ')]).toEqual([0, expect.stringMatching(words)])
      for (const line of next?.split('\n') ?? []) expect(line.length).toBeLessThanOrEqual(100)
      const shown = JSON.parse((await here.settlements('show', id.toString(), '--json')).out) as {
        next: string
      }
      expect(shown.next).toMatch(words)
    }
  })

  test('never shows what the payer signed, nor a hash of a token', async () => {
    const { signed } = await here.oneOfEach()
    await here.pool.query(
      `update settlements set payload = '"a signature"'; update transactions set raw = 'a signature'`,
    )
    const { rows: found } = await here.pool.query<{ hash: string }>(
      `select encode(token_hash, 'hex') as hash from clients`,
    )
    for (const more of [[], ['--json']]) {
      const { out } = await here.settlements('show', signed.toString(), ...more)
      expect(out).toContain(here.clientId)
      for (const secret of ['a signature', found[0]!.hash]) expect(out).not.toContain(secret)
    }
  })

  test('answers 1 to an id that there is not', async () => {
    expect(await here.settlements('show', '999')).toEqual({
      code: 1,
      out: '',
      err: 'facilitator: there is no settlement 999\n',
    })
  })
})
