import { closeAll } from '@tollgate/testing'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { hashes, newOperator, payer, signer, type Operator } from '../../testing/operator'
import { nextStepTexts, type NextStep } from '../settlements/next-step'

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
  test('shows a settlement with its client, its transaction and all its versions, the newest marked', async () => {
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

  test('shows the fee of each version and of each failed attempt that was mined', async () => {
    const [failed = '', replaced = '', mined = ''] = ['1', '2', '3'].map((digit) => `0x${digit.repeat(64)}`)
    const first = await here.rows.transaction({ nonce: 1n, status: 'final', fee: '900', versions: [failed] })
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
    expect(facts).toContainEqual(['failed attempts', '2, 1 mined'])
    expect(facts).toContainEqual(['fee', '1000, its share so far, in the smallest native unit'])
    expect(facts).toContainEqual(['failed attempt', `300 of the 900 for ${failed}, in block 17`])
    expect(facts).toContainEqual(['settling it', `700 of the 700 for ${mined}, in block 17`])
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
      feeAllocations: [
        { hash: failed, fee: '900', share: '300', settledIt: false },
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

  test('a transaction mined for a failed settlement, or for one that a third party settled, is a failed attempt', async () => {
    const shared = await here.rows.transaction({ nonce: 1n, status: 'mined', fee: '500' })
    const [taken, failed] = [
      await here.settlement({ status: 'settled', transactionId: shared, transactionHash: hashes[0]! }),
      await here.settlement({ status: 'failed', transactionId: shared, errorReason: 'payment_expired' }),
    ]
    for (const id of [taken, failed]) {
      await here.rows.charge(shared, id, '250')
      const { out } = await here.settlements('show', id.toString())
      expect(factsOf(out)).toContainEqual(['failed attempts', '1, 1 mined'])
      expect(factsOf(out)).toContainEqual([
        'failed attempt',
        expect.stringMatching(/^250 of the 500 for 0x[0-9a-f]{64}, in block 17$/) as string,
      ])
    }
  })

  test('a payer transaction shows that the payer paid its fee', async () => {
    const transactionId = await here.rows.transaction({ nonce: null, status: 'final', fee: '0' })
    const id = await here.settlement({ status: 'settled', transactionId })
    const { out } = await here.settlements('show', id.toString())
    expect(out).toMatch(/version 1 .*, mined, its fee paid by the payer\n/)
  })

  test('names the next step in each state', async () => {
    const ids = await here.oneOfEach()
    const own = await here.rows.transaction({ nonce: null })
    const waiting = await here.rows.transaction({ nonce: 8n, isBroadcast: false })
    const lost = await here.rows.transaction({ nonce: 9n, status: 'superseded' })
    const confirming = await here.rows.transaction({ nonce: 10n, status: 'mined' })
    const freed = await here.settlement({ attempts: 1, isReported: true })
    const signed = (transactionId: bigint) => here.settlement({ status: 'signed', transactionId })
    const again = await here.settlement({ status: 'reversed', transactionId: own, isReported: true })
    const expected: [bigint, NextStep][] = [
      [ids.other, 'wait-for-signature'],
      [ids.claimed, 'wait-for-another-attempt'],
      [ids.signed, 'wait-for-block'],
      [await signed(own), 'wait-for-payer-transaction'],
      [await signed(waiting), 'wait-for-node'],
      [await signed(lost), 'resolve-superseded-transaction'],
      [await signed(confirming), 'wait-for-confirmations'],
      [ids.settled, 'none-settled'],
      [ids.failed, 'none-failed'],
      [freed, 'resend-after-reorg'],
      [ids.reversed, 'wait-after-reorg'],
      [again, 'wait-after-reorg'],
      [ids.forGood, 'notify-client-of-reversal'],
    ]
    const runbook = readFileSync(join(__dirname, '../../../../../docs/operate/runbook.md'), 'utf8')
    for (const [id, step] of expected) {
      const { code, out } = await here.settlements('show', id.toString())
      expect([code, out.trim().split('\n').at(-1)]).toEqual([
        0,
        `Next: ${nextStepTexts[step]} (${step} in docs/operate/runbook.md#next-steps)`,
      ])
      const { out: json } = await here.settlements('show', id.toString(), '--json')
      expect(JSON.parse(json)).toMatchObject({ next: step, runbook: 'docs/operate/runbook.md#next-steps' })
      expect(runbook).toContain(`| \`${step}\``)
    }
  })

  test('never shows the payer’s signature or a token hash', async () => {
    const { signed } = await here.oneOfEach()
    await here.pool.query(
      `UPDATE settlements SET payload = '"a signature"'; UPDATE transactions SET raw = 'a signature'`,
    )
    const { rows: found } = await here.pool.query<{ hash: string }>(
      `SELECT encode(token_hash, 'hex') AS hash FROM clients`,
    )
    for (const more of [[], ['--json']]) {
      const { out } = await here.settlements('show', signed.toString(), ...more)
      expect(out).toContain(here.clientId)
      for (const secret of ['a signature', found[0]!.hash]) expect(out).not.toContain(secret)
    }
  })

  test('answers 1 to an unknown id', async () => {
    expect(await here.settlements('show', '999')).toEqual({
      code: 1,
      out: '',
      err: 'facilitator: there is no settlement 999\n',
    })
  })
})
