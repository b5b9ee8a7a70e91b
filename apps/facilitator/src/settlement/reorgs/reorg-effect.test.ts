import { reorgEffect, type MinedSettlement, type ReorgEffect } from './reorg-effect'

const dropped = { id: 7n, hash: '0xdropped' }
const failed: Partial<MinedSettlement> = { status: 'failed', errorReason: 'invalid_transaction_state' }

test.each<[string, Partial<MinedSettlement>, ReorgEffect]>([
  ['it settled', {}, 'reverse'],
  ['a third party settled', { transactionHash: '0xtheirs' }, 'none'],
  ['another transaction of ours settled', { transactionId: 8n }, 'none'],
  ['failed in it', failed, 'reopen'],
  ['failed after a retry without another transaction', { ...failed, transactionId: null }, 'reopen'],
  ['failed in another transaction', { ...failed, transactionId: 8n }, 'none'],
  ['is reversed-final', { ...failed, status: 'reversed' }, 'reopen'],
  ['is claimed again', { status: 'claimed', transactionId: null }, 'none'],
  ['is signed in another transaction', { status: 'signed', transactionId: 8n }, 'none'],
  ['is reversed and in flight', { status: 'reversed' }, 'none'],
])('a settlement that %s: %j is %s', (_, changes, effect) => {
  const settlement: MinedSettlement = {
    status: 'settled',
    transactionId: dropped.id,
    transactionHash: dropped.hash,
    errorReason: null,
    ...changes,
  }
  expect(reorgEffect(settlement, dropped)).toBe(effect)
})
