import { timelineOf, transactionsOf, type VersionRow } from './history'
import { type SettlementRow } from './settlement'

const at = (second: number) => new Date(Date.UTC(2026, 10, 25, 10, 0, second))

const settlement = (changed: Partial<SettlementRow> = {}) =>
  ({
    status: 'settled',
    errorReason: null,
    transactionHash: '0x2',
    blockNumber: 17n,
    claimedAt: at(0),
    reclaimedAt: null,
    updatedAt: at(9),
    settledAt: at(8),
    endedAt: at(8),
    successReportedAt: at(9),
    ...changed,
  }) as SettlementRow

const version = (changed: Partial<VersionRow> = {}): VersionRow => ({
  transactionId: 1n,
  hash: '0x2',
  createdAt: at(4),
  isNewest: true,
  status: 'mined',
  signer: '0xsigner',
  nonce: 3n,
  acceptedAt: at(5),
  blockNumber: 17n,
  share: '100',
  ...changed,
})
const replaced = version({ hash: '0x1', createdAt: at(1), isNewest: false })

const events = (...of: Parameters<typeof timelineOf>) =>
  timelineOf(...of).map(({ at: time, event }) => `${event} ${new Date(time).getUTCSeconds()}`)

describe('the timeline', () => {
  test('has each event whose time is stored, in the order of their times', () => {
    expect(events(settlement(), [replaced, version()])).toEqual([
      'claimed 0',
      'signed 1',
      'replaced 4',
      'accepted 5',
      'settled 8',
      'reported 9',
    ])
  })

  test('of a settlement that was claimed again has both claims and both transactions', () => {
    const row = settlement({ reclaimedAt: at(3) })
    const failed = version({ transactionId: 0n, hash: '0x0', createdAt: at(2), acceptedAt: null })
    expect(events(row, [failed, version()])).toEqual([
      'claimed 0',
      'signed 2',
      'claimed 3',
      'signed 4',
      'accepted 5',
      'settled 8',
      'reported 9',
    ])
  })

  const unsettled = { settledAt: null, successReportedAt: null, transactionHash: null, blockNumber: null }
  test.each<[string, Partial<SettlementRow>, string[]]>([
    ['pending', { ...unsettled, status: 'claimed', endedAt: null }, ['claimed 0']],
    [
      'failed',
      { ...unsettled, status: 'failed', endedAt: at(6), errorReason: 'x' },
      ['claimed 0', 'failed 6'],
    ],
    ['reversed, and sent again', { status: 'reversed' }, ['claimed 0', 'settled 8', 'reported 9']],
    [
      'reversed for good',
      { status: 'reversed', errorReason: 'x', updatedAt: at(10) },
      ['claimed 0', 'settled 8', 'reported 9', 'reversed 10'],
    ],
  ])('of one that is %s', (_, row, expected) => {
    expect(events(settlement(row), [])).toEqual(expected)
  })
})

describe('the transactions', () => {
  const time = (second: number) => at(second).toISOString()

  test('are all versions; only the newest has been accepted and mined', () => {
    expect(transactionsOf(settlement(), [replaced, version({ status: 'final' })])).toEqual([
      {
        hash: '0x1',
        state: 'replaced',
        signer: '0xsigner',
        nonce: '3',
        signedAt: time(1),
        acceptedAt: null,
        block: null,
        fee: null,
      },
      {
        hash: '0x2',
        state: 'final',
        signer: '0xsigner',
        nonce: '3',
        signedAt: time(4),
        acceptedAt: time(5),
        block: 17,
        fee: '100',
      },
    ])
  })

  test.each([
    ['signed', 'pending'],
    ['mined', 'mined'],
    ['final', 'final'],
    ['superseded', 'superseded'],
  ] as const)('of status %s are %s', (status, state) => {
    expect(transactionsOf(settlement(), [version({ status })])).toMatchObject([{ state }])
  })

  test('that the payer signed have no signer and no nonce of ours', () => {
    expect(transactionsOf(settlement(), [version({ nonce: null })])).toMatchObject([
      { signer: null, nonce: null },
    ])
  })

  test('include the one of a third party that made the payment', () => {
    const superseded = version({ hash: '0x1', status: 'superseded', blockNumber: null, share: null })
    expect(transactionsOf(settlement(), [superseded])).toMatchObject([
      { hash: '0x1', state: 'superseded' },
      {
        hash: '0x2',
        state: 'mined',
        signer: null,
        nonce: null,
        signedAt: null,
        acceptedAt: null,
        block: 17,
        fee: null,
      },
    ])
  })

  test('are none before one is signed', () => {
    expect(transactionsOf(settlement({ transactionHash: null, blockNumber: null }), [])).toEqual([])
  })
})
