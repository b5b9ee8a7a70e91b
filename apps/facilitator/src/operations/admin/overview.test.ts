import { type OperatorOverview, type OperatorSigner } from '@tollgate/protocol'
import { closeAll } from '@tollgate/testing'
import { ADMIN_TOKEN } from '../../testing/accounts'
import { testFacilitator } from '../../testing/facilitator'
import { untilRead } from '../../testing/operator-api'
import { settlementRows } from '../../testing/settlement-rows'

afterAll(closeAll)

test('counts the settlements that ended within a day, of all clients, and what was reversed for good', async () => {
  const facilitator = await testFacilitator({ signerKeys: [], variables: { ADMIN_TOKEN } })
  const rows = settlementRows(facilitator.database.pool)
  const user = await rows.user('shop@example.com')
  const clients = [await rows.client(user), await rows.client(user)]
  const ago = (hours: number) => new Date(Date.now() - hours * 3_600_000).toISOString()
  for (const clientId of clients) {
    await rows.settlement(clientId, { status: 'settled', endedAt: ago(23) })
    await rows.settlement(clientId, { status: 'settled', endedAt: ago(25) })
    await rows.settlement(clientId, { status: 'failed', errorReason: 'payment_expired', endedAt: ago(1) })
  }
  await rows.settlement(clients[0]!, {
    status: 'reversed',
    errorReason: 'x',
    isReported: true,
    endedAt: ago(2),
  })
  await rows.settlement(clients[0]!, { status: 'reversed', isReported: true, endedAt: ago(48) })
  const { lastDay, settlements } = await untilRead<OperatorOverview>(
    facilitator,
    'overview',
    (seen) => seen.lastDay.error === null && seen.settlements.error === null,
  )
  expect(lastDay).toEqual({ settled: 2, failed: 2, reversed: 1, error: null })
  expect(settlements).toMatchObject({ open: 1, stuck: 0, reversedFinal: 1, error: null })
})

test('shows nodes and balances while the database is away', async () => {
  const facilitator = await testFacilitator({ variables: { ADMIN_TOKEN } })
  await facilitator.database.close()
  const overview = await untilRead<OperatorOverview>(
    facilitator,
    'overview',
    ({ nodes, signers }) => nodes.failing === 0 && signers.unknown === 0,
  )
  const failed = (what: string) => `${what} could not be read; the log of this replica says why`
  expect(overview).toMatchObject({
    settlements: { open: null, stuck: null, error: failed('settlements') },
    lastDay: { settled: null, error: failed('settlements of the last day') },
    signers: { total: 1, low: 0, unknown: 0, withoutLeader: null },
    assets: { suspended: null, error: failed('suspended assets') },
    nodes: { total: 1, failing: 0, behind: 0, error: null },
  })
  const { signers, error } = await untilRead<{ signers: OperatorSigner[]; error: string }>(
    facilitator,
    'signers',
    ({ signers: [signer] }) => signer?.error === null,
  )
  expect(signers).toMatchObject([{ isLow: false, pendingTransactions: null, leader: null, error: null }])
  expect(error).toBe(failed('leaders and pending transactions'))
})
