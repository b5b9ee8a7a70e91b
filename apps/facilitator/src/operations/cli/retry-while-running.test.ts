import { closeAll, runMain } from '@tollgate/testing'
import { callRpc, newPayer, newSigner, transfersFrom } from '../../testing/chain'
import { testFacilitator } from '../../testing/facilitator'
import { withManualMining } from '../../testing/manual-mining'
import { AMOUNT, paymentRequest } from '../../testing/payment'
import { main } from './cli'

afterAll(closeAll)

/** A facilitator at work, and the command beside it as an operator runs it. */
async function atWork(variables: Record<string, string> = {}) {
  const here = await withManualMining({ variables })
  const environment = { DATABASE_URL: here.facilitator.databaseUrl }
  async function command(...args: string[]): Promise<string> {
    const { code, out, err } = await runMain(main, ['settlements', ...args], environment)
    expect([code, err]).toEqual([0, ''])
    return out
  }
  return { ...here, command }
}

test('retry replaces a pending transaction at once, and the payment settles once', async () => {
  const { rpcUrl, settle, until, onTheirWay, mine, command, pool } = await atWork()
  const payer = await newPayer(rpcUrl)
  const answer = settle(await paymentRequest(payer))
  await onTheirWay(1)
  expect(await command('list')).toMatch(/^ID .*\n1 +base-sepolia +signed /)
  expect(await command('retry', '1')).toMatch(/^1 +signed +retried: /)
  // By itself it would be half a minute old before it is replaced.
  await until(
    "transaction_versions JOIN transactions t ON t.id = transaction_id WHERE t.created_at > now() - INTERVAL '25 s'",
    2,
  )
  expect(await command('show', '1')).toMatch(/version 2 +0x[0-9a-f]{64}, signed .*, the newest/)
  await mine()
  expect(await answer).toMatchObject({ success: true })
  expect(await transfersFrom(rpcUrl, payer.address)).toMatchObject([{ value: AMOUNT }])
  const { rows } = await pool.query('SELECT retry_requested_at FROM settlements')
  expect(rows).toEqual([{ retry_requested_at: null }])
  expect(await command('show', '1')).toMatch(
    /success reported [^]*Next: nothing to do, it is paid \(none-settled/,
  )
})

test('list shows the problem of a payment, which settles once the last_error is resolved', async () => {
  const { rpcUrl, signer, settle, until, onTheirWay, mine, command } = await atWork()
  const setBalance = (wei: bigint) =>
    callRpc(rpcUrl, 'anvil_setBalance', signer.address, `0x${wei.toString(16)}`)
  await setBalance(0n)
  const payer = await newPayer(rpcUrl)
  const answer = settle(await paymentRequest(payer))
  await until('settlements WHERE last_error IS NOT NULL', 1)
  expect(await command('list')).toMatch(
    new RegExp(
      ` claimed .* ${signer.address} has 0 and may need \\d+ for fees, in the smallest native unit\\n$`,
    ),
  )
  await setBalance(10n ** 18n)
  expect(await command('retry', '1')).toMatch(/^1 +claimed +retried: /)
  await onTheirWay(1)
  await mine()
  expect(await answer).toMatchObject({ success: true })
  expect(await command('list')).toBe('nothing is open\n')
})

test('a transaction of a removed key is resent as it is, and its fees rise once the key is back', async () => {
  const SETTLE_TIMEOUT_SECONDS = '1'
  const { rpcUrl, signer, client, facilitator, settle, until, onTheirWay, mine, command } = await atWork({
    SETTLE_TIMEOUT_SECONDS,
  })
  const { databaseUrl } = facilitator
  const versionsOf = (id: number) =>
    `transaction_versions v JOIN settlements s ON s.transaction_id = v.transaction_id WHERE s.id = ${id}`
  const payer = await newPayer(rpcUrl)
  expect(await settle(await paymentRequest(payer))).toMatchObject({ errorReason: 'settlement_pending' })
  await onTheirWay(1)
  await Promise.all(facilitator.settlers.map((settler) => settler.close()))

  const variables = { SETTLE_TIMEOUT_SECONDS }
  const other = await newSigner(rpcUrl)
  const without = await testFacilitator({ rpcUrl, databaseUrl, variables, signerKeys: [other.privateKey] })
  const body = await paymentRequest(await newPayer(rpcUrl))
  const answer = await without.api.post('/api/v1/settle').set(client).send(body).expect(200)
  expect(answer.body).toMatchObject({ errorReason: 'settlement_pending' })
  await onTheirWay(2)
  const said = await command('retry', '1', '2')
  expect(said).toMatch(
    /^1 .* if the key of 0x\w+\.\.\w+ is no longer configured, the transaction is resent as it is/,
  )
  await until(versionsOf(2), 2)
  await until(versionsOf(1), 1)
  await without.close()

  const signerKeys = [other.privateKey, signer.privateKey]
  await testFacilitator({ rpcUrl, databaseUrl, variables, signerKeys })
  await command('retry', '1')
  await until(versionsOf(1), 2)
  await mine()
  await until("settlements WHERE status = 'settled'", 2)
  expect(await transfersFrom(rpcUrl, payer.address)).toMatchObject([{ value: AMOUNT }])
})
