import {
  type OperatorOverview,
  type OperatorSettlement,
  type OperatorSettlementDetail,
} from '@tollgate/protocol'
import { closeAll } from '@tollgate/testing'
import { ADMIN_TOKEN, asAdmin } from '../../testing/accounts'
import { newPayer, transfersFrom } from '../../testing/chain'
import { withManualMining } from '../../testing/manual-mining'
import { readAsAdmin, untilRead } from '../../testing/operator-api'
import { AMOUNT, paymentRequest } from '../../testing/payment'

afterAll(closeAll)

async function atWork() {
  const here = await withManualMining({ variables: { ADMIN_TOKEN } })
  const { api } = here.facilitator
  const read = <T>(path: string) => readAsAdmin<T>(here.facilitator, path)
  return {
    ...here,
    read,
    list: async (state: string) =>
      (await read<{ settlements: OperatorSettlement[] }>(`settlements?state=${state}`)).settlements,
    retry: async (id: string) =>
      (
        (await api.post(`/admin/settlements/${id}/retry`).set(asAdmin).expect(200)).body as {
          data: { code: string; message: string; settlement: OperatorSettlementDetail }
        }
      ).data,
  }
}

test('a stuck settlement is listed with its next step, retried, and settles once', async () => {
  const { rpcUrl, signer, client, pool, log, settle, until, onTheirWay, mine, list, read, retry } =
    await atWork()
  const payer = await newPayer(rpcUrl)
  const answer = settle(await paymentRequest(payer))
  await onTheirWay(1)
  await until('transactions WHERE accepted_at IS NOT NULL', 1)
  expect(await list('stuck')).toEqual([])
  await pool.query(`UPDATE settlements SET created_at = created_at - INTERVAL '3 min'`)

  const [stuck, ...others] = await list('stuck')
  expect(others).toEqual([])
  expect(stuck).toMatchObject({
    state: 'signed',
    isStuck: true,
    nextStep: 'wait-for-block',
    network: 'base-sepolia',
    clientId: client['X-Client-ID'],
    payer: payer.address,
    amount: '10000',
    symbol: 'USDC',
    decimals: 6,
    signer: signer.address,
    nonce: 0,
  })
  const id = stuck!.id
  expect(await retry(id)).toMatchObject({
    code: 'retried',
    message: expect.stringMatching(/^its fees are raised now/) as string,
    settlement: { id, state: 'signed', nextStep: 'wait-for-block' },
  })
  expect(await log.line('operator action')).toMatchObject({
    level: 'info',
    action: 'POST /settlements/:id/retry',
    settlementId: id,
    outcome: 'retried',
    requestId: expect.stringMatching(/./) as string,
  })
  // By itself it would be half a minute old before it is replaced.
  await until(
    "transaction_versions JOIN transactions t ON t.id = transaction_id WHERE t.created_at > now() - INTERVAL '25 s'",
    2,
  )
  await mine()
  expect(await answer).toMatchObject({ success: true })
  expect(await transfersFrom(rpcUrl, payer.address)).toMatchObject([{ value: AMOUNT }])

  const detail = await read<OperatorSettlementDetail>(`settlements/${id}`)
  expect(detail).toMatchObject({
    state: 'settled',
    nextStep: 'none-settled',
    runbook: 'docs/operate/runbook.md#next-steps',
    retryRequestedAt: null,
    client: { id: client['X-Client-ID'], isDeleted: false },
  })
  expect(detail.transaction?.versions).toHaveLength(2)
  expect(await retry(id)).toMatchObject({ code: 'settled', message: 'it is settled' })
  expect(await list('open')).toEqual([])
})

test('the overview counts what is open, stuck, and ended within a day', async () => {
  const { rpcUrl, facilitator, pool, settle, onTheirWay, mine, until } = await atWork()
  const answers = [
    settle(await paymentRequest(await newPayer(rpcUrl))),
    settle(await paymentRequest(await newPayer(rpcUrl))),
  ]
  await onTheirWay(2)
  await pool.query(
    `UPDATE settlements SET created_at = created_at - INTERVAL '3 min' WHERE id = (SELECT min(id) FROM settlements)`,
  )
  const { settlements, lastDay, signers, nodes, assets } = await untilRead<OperatorOverview>(
    facilitator,
    'overview',
    (seen) =>
      [seen.settlements.error, seen.lastDay.error, seen.assets.error].every((error) => error === null) &&
      [seen.signers.unknown, seen.signers.withoutLeader, seen.nodes.failing].every((count) => count === 0),
  )
  expect(settlements).toEqual({
    open: 2,
    stuck: 1,
    oldestAgeSeconds: expect.any(Number) as number,
    reversedFinal: 0,
    error: null,
  })
  expect(settlements.oldestAgeSeconds).toBeGreaterThanOrEqual(180)
  expect(lastDay).toEqual({ settled: 0, failed: 0, reversed: 0, error: null })
  expect(signers).toEqual({ total: 1, low: 0, unknown: 0, withoutLeader: 0, error: null })
  expect(assets).toEqual({ suspended: 0, error: null })
  expect(nodes).toEqual({ total: 1, failing: 0, behind: 0, error: null })
  await mine()
  await Promise.all(answers)
  await until(`settlements WHERE status = 'settled'`, 2)
})
