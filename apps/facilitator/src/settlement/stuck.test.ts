import { closeAll } from '@tollgate/testing'
import { callRpc, newPayer, transactionCount, transfersFrom } from '../testing/chain'
import { newClient, newUser, testFacilitator } from '../testing/facilitator'
import { withManualMining } from '../testing/manual-mining'
import { inSeconds, paymentRequest } from '../testing/payment'

const GWEI = 1_000_000_000n
const quantity = (value: bigint) => `0x${value.toString(16)}`

/** Transactions whose second version the node has. */
const REPLACED = `transactions t
  WHERE accepted_at IS NOT NULL AND (SELECT count(*) FROM transaction_versions v WHERE v.transaction_id = t.id) = 2`

afterAll(closeAll)

test.concurrent('a transaction with too low fees is replaced with the same nonce, and the ones after it are mined with it', async () => {
  const { rpcUrl, signer, pool, settle, mine, mineUntil, until, onTheirWay } = await withManualMining()
  const [first, second] = await Promise.all([newPayer(rpcUrl), newPayer(rpcUrl)])
  const settling = settle(await paymentRequest(first))
  await onTheirWay(1)
  await callRpc(rpcUrl, 'anvil_setNextBlockBaseFeePerGas', quantity(50n * GWEI))
  await mine()
  expect(await transactionCount(rpcUrl, signer.address)).toBe(0)
  await until(REPLACED, 1)
  const later = settle(await paymentRequest(second))
  await mineUntil("settlements WHERE status = 'settled'", 2)

  const result = await settling
  expect(result).toMatchObject({ success: true })
  expect(await later).toMatchObject({ success: true })
  expect(await transfersFrom(rpcUrl, first.address)).toHaveLength(1)
  const { rows } = await pool.query<{ nonce: bigint; versions: bigint; hash: string }>(
    `SELECT nonce, hash, (SELECT count(*) FROM transaction_versions v WHERE v.transaction_id = t.id) AS versions
     FROM transactions t ORDER BY nonce`,
  )
  expect(rows).toMatchObject([{ nonce: 0n, versions: 2n, hash: result.transaction }, { nonce: 1n }])
})

test.concurrent('a payment that expires while its transaction is pending fails, and the nonce is not lost', async () => {
  const { rpcUrl, signer, settle, mine, until, onTheirWay } = await withManualMining()
  const settling = settle(
    await paymentRequest(await newPayer(rpcUrl), { authorization: { validBefore: inSeconds(20) } }),
  )
  await onTheirWay(1)
  await callRpc(rpcUrl, 'anvil_setNextBlockBaseFeePerGas', quantity(50n * GWEI))
  await callRpc(rpcUrl, 'evm_increaseTime', 60)
  await mine()
  expect(await settling).toMatchObject({ success: false, errorReason: 'payment_expired' })
  await until(REPLACED, 1)
  await mine()
  expect(await transactionCount(rpcUrl, signer.address)).toBe(1)
})

test.concurrent('a signer that cannot pay the fees sends nothing, and the payment is settled once it can', async () => {
  const { rpcUrl, signer, log, pool, settle, mine, onTheirWay } = await withManualMining()
  await callRpc(rpcUrl, 'anvil_setBalance', signer.address, '0x1')
  const settling = settle(await paymentRequest(await newPayer(rpcUrl)))
  await log.line('signer cannot cover fees')
  expect((await pool.query('SELECT FROM transactions')).rowCount).toBe(0)
  await callRpc(rpcUrl, 'anvil_setBalance', signer.address, quantity(10n ** 18n))
  await onTheirWay(1)
  await mine()
  expect(await settling).toMatchObject({ success: true })
})

test.concurrent('a settlement that a reorg drops is reversed, broadcast again, and settled by the same transaction', async () => {
  const { rpcUrl, log, pool, settle, mine, until, onTheirWay } = await withManualMining()
  const payer = await newPayer(rpcUrl)
  await mine()
  const settling = settle(await paymentRequest(payer))
  await onTheirWay(1)
  await mine()
  const result = await settling
  expect(result).toMatchObject({ success: true })

  await callRpc(rpcUrl, 'anvil_reorg', 2, [])
  await log.line('reorg dropped transaction')
  expect((await pool.query('SELECT status, fee FROM settlements')).rows).toEqual([
    { status: 'reversed', fee: '0' },
  ])
  await until('transactions WHERE accepted_at IS NOT NULL', 1)
  await mine()
  await until("settlements WHERE status = 'settled'", 1)
  expect((await pool.query('SELECT status, transaction_hash FROM settlements')).rows).toEqual([
    { status: 'settled', transaction_hash: result.transaction },
  ])
  expect(await transfersFrom(rpcUrl, payer.address)).toHaveLength(1)
})

test.concurrent('a reversal that is final after success was reported counts as reversed, not as failed', async () => {
  const { rpcUrl, log, settle, mine, until, onTheirWay, facilitator } = await withManualMining()
  const payer = await newPayer(rpcUrl)
  await mine()
  const settling = settle(await paymentRequest(payer, { authorization: { validBefore: inSeconds(60) } }))
  await onTheirWay(1)
  await mine()
  expect(await settling).toMatchObject({ success: true })

  await callRpc(rpcUrl, 'anvil_reorg', 2, [])
  await callRpc(rpcUrl, 'evm_increaseTime', 120)
  await log.line('reorg dropped transaction')
  await mine()
  await until("settlements WHERE status = 'reversed' AND error_reason IS NOT NULL", 1)
  await log.line('settlement reversed, final')
  expect(await facilitator.scrape()).toMatch(
    /^tollgate_settlements_completed_total\{.*outcome="reversed",reason=".+"\} 1$/m,
  )
  expect(await transfersFrom(rpcUrl, payer.address)).toEqual([])
})

test.concurrent('pending transactions of a removed signer are tracked until they are resolved', async () => {
  const { rpcUrl, facilitator, settle, mine, onTheirWay, client } = await withManualMining({
    variables: { SETTLE_TIMEOUT_SECONDS: '1' },
  })
  const payment = await paymentRequest(await newPayer(rpcUrl))
  expect(await settle(payment)).toMatchObject({ errorReason: 'settlement_pending' })
  await onTheirWay(1)
  await facilitator.close()

  const { databaseUrl } = facilitator
  const { api } = await testFacilitator({ rpcUrl, databaseUrl })
  await mine()
  const answer = await api.post('/api/v1/settle').set(client).send(payment).expect(200)
  expect(answer.body).toMatchObject({ success: true })
})

describe('a client key that is changed while a payment settles', () => {
  /** A user of a facilitator who makes keys, on a chain that mines on demand. */
  async function shop() {
    const { rpcUrl, facilitator, settle, mineUntil } = await withManualMining({
      variables: { SETTLE_TIMEOUT_SECONDS: '1' },
    })
    const { api } = facilitator
    const user = await newUser(api)
    const asUser = { Authorization: `Bearer ${user.accessToken}` }
    const createKey = async () => {
      const answer = await api.post('/api/v1/clients').set(asUser).send({ title: 'Shop' }).expect(200)
      const { clientId, token } = (answer.body as { data: { client: { clientId: string; token: string } } })
        .data.client
      return { 'X-Client-ID': clientId, 'X-Client-Token': token }
    }
    const settled = () => mineUntil("settlements WHERE status = 'settled'", 1)
    return { api, asUser, createKey, rpcUrl, settle, settled }
  }

  test.concurrent('leaves its outcome to the next key of the same user, once, and to no other', async () => {
    const { api, asUser, createKey, rpcUrl, settle, settled } = await shop()
    const [old, next, stranger] = [await createKey(), await createKey(), await newClient(api)]
    const payment = await paymentRequest(await newPayer(rpcUrl))
    expect(await settle(payment, old)).toMatchObject({ errorReason: 'settlement_pending' })
    expect(await settle(payment, next)).toMatchObject({ errorReason: 'duplicate_settlement' })
    await api.delete(`/api/v1/clients/${old['X-Client-ID']}`).set(asUser).expect(200)
    await settled()

    expect(await settle(payment, stranger)).toMatchObject({ errorReason: 'duplicate_settlement' })
    expect(await settle(payment, next)).toMatchObject({ success: true })
    expect(await settle(payment, next)).toMatchObject({ errorReason: 'duplicate_settlement' })
  })

  test.concurrent('leaves its outcome to another key that repeats its Idempotency-Key first, and from then on to that key', async () => {
    const { api, createKey, rpcUrl, settle, settled } = await shop()
    const order = { 'Idempotency-Key': 'order-1' }
    const [old, next, stranger] = [await createKey(), await createKey(), await newClient(api)]
    const payment = await paymentRequest(await newPayer(rpcUrl))
    expect(await settle(payment, { ...old, ...order })).toMatchObject({ errorReason: 'settlement_pending' })
    expect(await settle(payment, { ...next, ...order })).toMatchObject({
      errorReason: 'settlement_pending',
    })
    await settled()

    expect(await settle(payment, { ...stranger, ...order })).toMatchObject({
      errorReason: 'duplicate_settlement',
    })
    expect(await settle(payment, { ...next, ...order })).toMatchObject({ success: true })
    expect(await settle(payment, { ...next, ...order })).toMatchObject({ success: true })
    expect(await settle(payment, { ...old, ...order })).toMatchObject({
      errorReason: 'duplicate_settlement',
    })
  })
})
