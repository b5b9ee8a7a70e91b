import { closeAll } from '@tollgate/testing'
import { callRpc } from '../testing/chain'
import { COSMOS_AMOUNT, COSMOS_FEE, newCosmosWallet, signSend, type CosmosWallet } from '../testing/cosmos'
import { onGaslessChain } from '../testing/gasless'

afterAll(closeAll)

const txOf = (body: { paymentPayload: { payload: { payment: { txBase64: string } } } }) =>
  new Uint8Array(Buffer.from(body.paymentPayload.payload.payment.txBase64, 'base64'))

describe('a payment whose fee we pay', () => {
  test('is settled for a payer that holds the price and nothing else, and its rows have what it cost us', async () => {
    const { granter, facilitator, pool, newPayer, gasless, verify, settle, balance, grants, network } =
      await onGaslessChain()
    const kind = await facilitator.api.get(`/api/v1/networks/${network}`).expect(200)
    expect(kind.body).toMatchObject({ feePayer: granter.address })

    const payer = await newPayer()
    const body = await gasless(payer)
    const before = await balance(granter.address)
    expect(await verify(body)).toMatchObject({ isValid: true, payer: payer.address })
    expect([await grants(), await balance(granter.address)]).toEqual([0, before])

    expect(await settle(body)).toMatchObject({ success: true, payer: payer.address })
    expect(await balance(payer.address)).toBe(0n)
    expect(await balance(body.paymentRequirements.payTo)).toBe(COSMOS_AMOUNT)
    expect(await grants()).toBe(1)
    const cost = before - (await balance(granter.address))
    const { rows } = await pool.query<{ fee: string; charges: string; most: string }>(
      `SELECT s.fee, (SELECT sum(fee) FROM fee_allocations) AS charges, (SELECT max(fee) FROM fee_allocations) AS most
       FROM settlements s WHERE status = 'settled'`,
    )
    expect(rows).toEqual([{ fee: `${cost}`, charges: `${cost}`, most: `${COSMOS_FEE}` }])

    expect(await settle(body)).toMatchObject({ success: false, errorReason: 'duplicate_settlement' })
    expect(await grants()).toBe(1)
  })

  test('shares its grant transaction with other payments', async () => {
    const { newPayer, gasless, settle, balance, grants, pool } = await onGaslessChain()
    const payers = await Promise.all(Array.from({ length: 20 }, () => newPayer()))
    const bodies = await Promise.all(payers.map((payer) => gasless(payer)))
    const results = await Promise.all(bodies.map((body) => settle(body)))
    expect(results.filter(({ success }) => success)).toHaveLength(20)
    expect(new Set(results.map(({ transaction }) => transaction)).size).toBe(20)
    for (const { paymentRequirements } of bodies)
      expect(await balance(paymentRequirements.payTo)).toBe(COSMOS_AMOUNT)
    expect(await grants()).toBeLessThan(10)
    const { rows } = await pool.query("SELECT FROM settlements WHERE status = 'settled' AND fee > $1", [
      COSMOS_FEE,
    ])
    expect(rows).toHaveLength(20)
  })

  test('is refused, and nothing spent, above the cap of a payment, with another granter, and if we pay no fees', async () => {
    const { rpcUrl, newPayer, gasless, verify, settle, grants, count } = await onGaslessChain()
    const payer = await newPayer()
    const dear = { amount: [{ denom: 'uatom', amount: '10001' }], gas: '200000' }
    const free = { amount: [], gas: '200000' }
    const otherWallet = await newCosmosWallet(rpcUrl, 1_000_000n)
    const bodies = [
      await gasless(payer, { fee: dear }),
      await gasless(payer, { fee: free }),
      await gasless(payer, { granter: otherWallet.address }),
      await gasless(payer, { fee: { payer: otherWallet.address } }),
    ]
    for (const body of bodies) {
      const verified = await verify(body)
      expect(verified).toMatchObject({ isValid: false })
      expect(verified.invalidReason).toMatch(/^invalid_(payment|payload)$/)
      expect(await settle(body)).toMatchObject({ success: false, errorReason: verified.invalidReason })
    }
    expect([await grants(), await count('transactions')]).toEqual([0, 0])

    const off = await onGaslessChain({ gaslessMaxFee: undefined })
    const kind = await off.facilitator.api.get(`/api/v1/networks/${off.network}`).expect(200)
    expect(kind.body).toMatchObject({ feePayer: '' })
    const payment = await off.gasless(await off.newPayer())
    expect(await off.settle(payment)).toMatchObject({ success: false, errorReason: 'invalid_payload' })
    expect(await off.grants()).toBe(0)
  })
})

describe('the daily fee limit', () => {
  test('holds for concurrent requests on two replicas and after a restart', async () => {
    const dailyLimit = 45_000n
    const { granter, facilitator, newPayer, gasless, settle, balance, replica } = await onGaslessChain({
      maxFeesPerDay: dailyLimit,
    })
    const other = await replica()
    const before = await balance(granter.address)
    const spent = async () => before - (await balance(granter.address))
    expect(await settle(await gasless(await newPayer()))).toMatchObject({ success: true })

    const payers = await Promise.all(Array.from({ length: 8 }, () => newPayer()))
    const bodies = await Promise.all(payers.map((payer) => gasless(payer)))
    const results = await Promise.all(
      bodies.map((body, index) => settle(body, index % 2 === 0 ? facilitator : other)),
    )
    const refused = results.filter(({ success }) => !success)
    expect(refused).not.toEqual([])
    for (const { errorReason } of refused) expect(errorReason).toBe('unexpected_settle_error')
    expect(await spent()).toBeLessThanOrEqual(dailyLimit)

    await Promise.all([facilitator.close(), other.close()])
    const restarted = await replica()
    const again = async () => settle(await gasless(await newPayer()), restarted)
    let last = await again()
    for (let tries = 1; last.success && tries < 8; tries++) last = await again()
    expect(last).toMatchObject({ success: false, errorReason: 'unexpected_settle_error' })
    expect(await spent()).toBeLessThanOrEqual(dailyLimit)

    const own = await gasless(await newPayer(COSMOS_AMOUNT + COSMOS_FEE), { granter: undefined })
    expect(await settle(own, restarted)).toMatchObject({ success: true })
  })
})

/** Uses the payment's sequence for another transaction in the block of its grant, then spends the allowance. */
async function waste(
  {
    rpcUrl,
    granter,
    gasless,
    settle,
    until,
    broadcast,
    stop,
    mine,
    chain,
  }: Awaited<ReturnType<typeof onGaslessChain>>,
  payer: CosmosWallet,
) {
  const { address: elsewhere } = await newCosmosWallet(rpcUrl)
  await stop()
  const answer = settle(await gasless(payer))
  await until("transactions WHERE status = 'signed' AND accepted_at IS NOT NULL", 1)
  await broadcast(await signSend(rpcUrl, payer, elsewhere, { amount: 1n }))
  await mine()
  expect(await answer).toMatchObject({ success: false, errorReason: 'invalid_transaction_state' })
  await chain.setPace('at-once')
  await broadcast(await signSend(rpcUrl, payer, elsewhere, { amount: 1n, granter: granter.address }))
}

describe('a payer that wastes what it is granted', () => {
  test('costs us three grants and three fees a day, and must then pay its fees itself', async () => {
    const world = await onGaslessChain({ variables: { SETTLE_TIMEOUT_SECONDS: '20' } })
    const { granter, newPayer, gasless, settle, grants, balance } = world
    const payer = await newPayer(20n * COSMOS_AMOUNT)
    const before = await balance(granter.address)
    for (let time = 0; time < 2; time++) await waste(world, payer)
    expect(await settle(await gasless(payer))).toMatchObject({ success: true })
    await waste(world, payer)
    expect(await grants()).toBe(4)
    const spent = before - (await balance(granter.address))

    expect(await settle(await gasless(payer))).toMatchObject({
      success: false,
      errorReason: 'invalid_transaction_state',
    })
    expect([await grants(), before - (await balance(granter.address))]).toEqual([4, spent])
    const itself = { granter: undefined }
    expect(await settle(await gasless(payer, itself))).toMatchObject({ success: true })
    expect(await settle(await gasless(await newPayer()))).toMatchObject({ success: true })
  })

  test('uses up the daily fee limit, which other payments then cannot use', async () => {
    const dailyLimit = 20_000n
    const world = await onGaslessChain({
      maxFeesPerDay: dailyLimit,
      variables: { SETTLE_TIMEOUT_SECONDS: '20' },
    })
    const { granter, newPayer, gasless, settle, balance } = world
    const before = await balance(granter.address)
    for (let time = 0; time < 2; time++) await waste(world, await newPayer(3n * COSMOS_AMOUNT))
    expect(await settle(await gasless(await newPayer()))).toMatchObject({
      success: false,
      errorReason: 'unexpected_settle_error',
    })
    expect(before - (await balance(granter.address))).toBeLessThanOrEqual(dailyLimit)
  })
})

/** A gasless payment whose grant a node accepted, on a chain without new blocks. */
async function withGrantAccepted() {
  const world = await onGaslessChain({ variables: { SETTLE_TIMEOUT_SECONDS: '1' } })
  const payer = await world.newPayer()
  const body = await world.gasless(payer)
  await world.stop()
  expect(await world.settle(body)).toMatchObject({ errorReason: 'settlement_pending' })
  await world.until("transactions WHERE status = 'signed' AND accepted_at IS NOT NULL", 1)
  return { ...world, payer, body }
}

describe('a facilitator that ends between the grant and the payment', () => {
  test.each([
    ['a node has the grant', false],
    ['no node has it any more', true],
  ])('where %s, is followed by one that settles with one grant and one transfer', async (_, isDropped) => {
    const world = await withGrantAccepted()
    const { payer, body, rpcUrl, facilitator, pool, settle, grants, balance, chain } = world
    const { rows } = await pool.query<{ hash: string }>('SELECT hash FROM transactions')
    await facilitator.close()
    if (isDropped) await callRpc(rpcUrl, 'dev_dropPending')
    await chain.setPace('at-once')

    const next = await world.replica()
    let result = await settle(body, next)
    const deadline = performance.now() + 40_000
    while (result.errorReason === 'settlement_pending' && performance.now() < deadline)
      result = await settle(body, next)
    expect(result).toMatchObject({ success: true, payer: payer.address })
    expect(await balance(body.paymentRequirements.payTo)).toBe(COSMOS_AMOUNT)
    expect(await grants()).toBe(1)
    const stored = await next.database.pool.query<{ hash: string; nonce: bigint | null }>(
      'SELECT hash, nonce FROM transactions ORDER BY id',
    )
    expect(stored.rows).toEqual([
      { hash: rows[0]?.hash, nonce: 0n },
      { hash: result.transaction, nonce: null },
    ])
  })
})

test('a payment that its payer also broadcasts after the grant settles once and succeeds', async () => {
  const world = await onGaslessChain()
  const { newPayer, gasless, settle, grants, balance, until, broadcast, stop, mine } = world
  const payer = await newPayer()
  const body = await gasless(payer)
  await stop()
  const answer = settle(body)
  await until("transactions WHERE status = 'signed' AND accepted_at IS NOT NULL", 1)
  await mine()
  await broadcast(txOf(body)).catch(() => undefined)
  await mine()
  expect(await answer).toMatchObject({ success: true, payer: payer.address })
  expect(await balance(body.paymentRequirements.payTo)).toBe(COSMOS_AMOUNT)
  expect(await grants()).toBe(1)
})

test('a payment that its payer sent itself after the grant, while no facilitator ran, does not fail and settles once', async () => {
  const world = await withGrantAccepted()
  const { payer, body, facilitator, grants, balance, until, broadcast, mine, chain } = world
  await facilitator.close()
  await mine()
  await broadcast(txOf(body))

  const next = await world.replica()
  await until("settlements WHERE status = 'failed' OR transaction_hash IS NOT NULL", 1, next)
  expect(await world.count("settlements WHERE status = 'failed'", next)).toBe(0)
  await chain.setPace('at-once')
  expect(await world.settleAtLast(body, next)).toMatchObject({ success: true, payer: payer.address })
  expect([await balance(body.paymentRequirements.payTo), await grants()]).toEqual([COSMOS_AMOUNT, 1])
})
