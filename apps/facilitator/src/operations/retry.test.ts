import { closeAll } from '@tollgate/testing'
import { callRpc, newPayer, transfersFrom } from '../testing/chain'
import { onPausedChain } from '../testing/paused'
import { AMOUNT, paymentRequest } from '../testing/payment'
import { main } from './cli'

afterAll(closeAll)

/** A facilitator at work, and the command beside it as an operator runs it. */
async function atWork() {
  const here = await onPausedChain()
  const environment = { DATABASE_URL: here.facilitator.databaseUrl }
  async function command(...args: string[]): Promise<string> {
    let said = ''
    const out = (text: string) => (said += text)
    expect(await main(['settlements', ...args], { environment, out, err: out })).toBe(0)
    return said
  }
  return { ...here, command }
}

test('a transaction that waits is replaced at once when an operator wants it retried, and settles once', async () => {
  const { rpcUrl, settle, until, onTheirWay, mine, command, pool } = await atWork()
  const payer = await newPayer(rpcUrl)
  const answer = settle(await paymentRequest(payer))
  await onTheirWay(1)
  expect(await command('list')).toMatch(/^ID .*\n1 +base-sepolia +signed /)
  expect(await command('retry', '1')).toMatch(/^1 +signed +retried: /)
  // By itself it would be half a minute old before it is replaced.
  await until(
    "transaction_versions join transactions t on t.id = transaction_id where t.created_at > now() - interval '25 s'",
    2,
  )
  expect(await command('show', '1')).toMatch(/version 2 +0x[0-9a-f]{64}, signed .*, the newest/)
  await mine()
  expect(await answer).toMatchObject({ success: true })
  expect(await transfersFrom(rpcUrl, payer.address)).toMatchObject([{ value: AMOUNT }])
  const { rows } = await pool.query('select retry_at from settlements')
  expect(rows).toEqual([{ retry_at: null }])
  expect(await command('show', '1')).toMatch(/It is over, and paid\. Its client was told that it succeeded\./)
})

test('an operator is told what a payment waits for, and once that is mended it is settled', async () => {
  const { rpcUrl, signer, settle, until, onTheirWay, mine, command } = await atWork()
  const setBalance = (wei: bigint) =>
    callRpc(rpcUrl, 'anvil_setBalance', signer.address, `0x${wei.toString(16)}`)
  await setBalance(0n)
  const payer = await newPayer(rpcUrl)
  const answer = settle(await paymentRequest(payer))
  await until('settlements where problem is not null', 1)
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
