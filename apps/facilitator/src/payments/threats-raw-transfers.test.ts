import { ChainUnavailable, TransactionRejected } from '@tollgate/chains'
import { USDC_ADDRESS } from '@tollgate/devnet'
import { encodeJson, type SettleResult } from '@tollgate/protocol'
import { closeAll } from '@tollgate/testing'
import { Transaction } from 'ethers'
import { setTimeout as delay } from 'node:timers/promises'
import { callRpc, newPayer, ownChain, transfersFrom } from '../testing/chain'
import { newClient } from '../testing/facilitator'
import { faulty } from '../testing/faulty'
import { facilitatorWithClient, type FacilitatorWithClient } from '../testing/facilitator-with-client'
import { SENT } from '../testing/hostile'
import { withManualMining } from '../testing/manual-mining'
import { AMOUNT, paymentRequest } from '../testing/payment'
import { GWEI, legacyFees, newSender, payTo, rawOf, rawRequest } from '../testing/raw-transfer'

let rpcUrl: string
let harness: FacilitatorWithClient
beforeAll(async () => {
  ;({ rpcUrl } = await ownChain())
  harness = await facilitatorWithClient({ rpcUrl })
})
afterAll(closeAll)
const payerOn = (url = rpcUrl) => newSender(url)

const forms: [string, (raw: string) => string | object][] = [
  ['the hex', (raw) => raw],
  ['the hex in large letters', (raw) => `0x${raw.slice(2).toUpperCase()}`],
  ['base64 of the type and the hex', (raw) => encodeJson({ type: 'raw_tx', rawTx: raw })],
  ['an object', (raw) => ({ type: 'raw_tx', rawTx: raw })],
]

describe('a transaction signed by its payer pays', () => {
  test.each(forms)('%s', async (_, write) => {
    const payer = await payerOn()
    const raw = rawOf(payer)
    const body = await rawRequest(write(raw))
    const sent = await harness.sent()
    expect(await harness.verify(body)).toMatchObject({ isValid: true, payer: payer.address })
    expect(await harness.settle(body)).toMatchObject({
      success: true,
      payer: payer.address,
      transaction: Transaction.from(raw).hash,
    })
    expect(await transfersFrom(rpcUrl, payer.address)).toMatchObject([
      { to: payTo.toLowerCase(), value: AMOUNT },
    ])
    expect(await harness.sent()).toBe(sent)
  })

  test.each([
    ['of the first type', legacyFees],
    ['with an access list', { ...legacyFees, type: 1, accessList: [] }],
  ])('%s', async (_, changes) => {
    const body = await rawRequest(rawOf(await payerOn(), changes))
    expect(await harness.settle(body)).toMatchObject({ success: true })
  })
})

test('one transaction, in all its forms, by many clients at once and later, is one transfer and one success', async () => {
  const payer = await payerOn()
  const raw = rawOf(payer)
  const clients = await Promise.all([1, 2, 3].map(() => newClient(harness.facilitator.api)))
  const bodies = await Promise.all(forms.map(([, write]) => rawRequest(write(raw))))
  const settleAll = () =>
    Promise.all(clients.flatMap((client) => bodies.map((body) => harness.settle(body, client))))
  const results = [...(await settleAll()), ...(await settleAll())]
  expect(results.filter(({ success }) => success)).toHaveLength(1)
  const others = results.filter(({ success }) => !success).map(({ errorReason }) => errorReason)
  expect(new Set(others)).toEqual(new Set(['duplicate_settlement']))
  expect(await transfersFrom(rpcUrl, payer.address)).toHaveLength(1)
})

test('one transaction pays one of two who ask for it', async () => {
  const payer = await payerOn()
  const raw = rawOf(payer)
  const [first, second] = [await rawRequest(raw), await rawRequest(raw)]
  second.paymentRequirements.resource = 'https://other.example/report'
  const results = await Promise.all([harness.settle(first), harness.settle(second)])
  expect(results.filter(({ success }) => success)).toHaveLength(1)
})

test('one whose nonce another transaction used is refused and not sent', async () => {
  const payer = await payerOn()
  await callRpc(rpcUrl, 'eth_sendRawTransaction', rawOf(payer, { to: payer.address, data: '0x' }))
  const raw = rawOf(payer)
  await harness.expectRefused(await rawRequest(raw), 'invalid_transaction_state')
  expect(await callRpc(rpcUrl, 'eth_getTransactionByHash', Transaction.from(raw).hash)).toBeNull()
  expect(await transfersFrom(rpcUrl, payer.address)).toEqual([])
})

test('one that was mined before the request pays nothing', async () => {
  const payer = await payerOn()
  const raw = rawOf(payer)
  await callRpc(rpcUrl, 'eth_sendRawTransaction', raw)
  await harness.expectRefused(await rawRequest(raw), 'invalid_transaction_state')
  expect(await transfersFrom(rpcUrl, payer.address)).toHaveLength(1)
})

describe('while it waits to be mined,', () => {
  const later = (paused: Awaited<ReturnType<typeof withManualMining>>, answer: Promise<SettleResult>) =>
    Promise.all([answer, paused.until("settlements WHERE status IN ('settled', 'failed')", 1)]).then(
      ([result]) => result,
    )

  test('one that its payer replaces is no success, and its replacement does not count as it', async () => {
    const paused = await withManualMining()
    const payer = await payerOn(paused.rpcUrl)
    const body = await rawRequest(rawOf(payer))
    const answer = paused.settle(body)
    await paused.until(SENT, 1)
    const fees = { maxFeePerGas: 90n * GWEI, maxPriorityFeePerGas: 50n * GWEI }
    await callRpc(
      paused.rpcUrl,
      'eth_sendRawTransaction',
      rawOf(payer, { ...fees, to: payer.address, data: '0x' }),
    )
    for (let blocks = 0; blocks < 25; blocks++) await paused.mine()
    expect(await later(paused, answer)).toMatchObject({
      success: false,
      errorReason: 'invalid_transaction_state',
    })
    expect(await transfersFrom(paused.rpcUrl, payer.address)).toEqual([])
  })

  test('one whose payer spends the money is not a success', async () => {
    const paused = await withManualMining()
    const payer = await payerOn(paused.rpcUrl)
    const answer = paused.settle(await rawRequest(rawOf(payer)))
    await paused.until(SENT, 1)
    await callRpc(paused.rpcUrl, 'anvil_dealERC20', payer.address, USDC_ADDRESS, '0x0')
    await paused.mine()
    expect(await later(paused, answer)).toMatchObject({
      success: false,
      errorReason: 'invalid_transaction_state',
    })
    expect(await transfersFrom(paused.rpcUrl, payer.address)).toEqual([])
  })

  test('one has its own transaction, not that of a batch, and costs us no gas', async () => {
    const paused = await withManualMining()
    const payer = await payerOn(paused.rpcUrl)
    const bodies = [
      await rawRequest(rawOf(payer)),
      ...(await Promise.all([1, 2, 3, 4].map(async () => paymentRequest(await newPayer(paused.rpcUrl))))),
    ]
    const answers = bodies.map((body) => paused.settle(body))
    await paused.until(SENT, bodies.length)
    await paused.mine()
    const results = await Promise.all(answers)
    expect(results.map(({ success }) => success)).toEqual(bodies.map(() => true))
    const { rows } = await paused.pool.query(
      'SELECT nonce, fee::text, (SELECT count(*)::int FROM settlements s WHERE s.transaction_id = t.id) AS carries FROM transactions t WHERE hash = $1',
      [results[0]!.transaction],
    )
    expect(rows).toEqual([{ nonce: null, fee: '0', carries: 1 }])
  })
})

test.each([
  ['at first', 0],
  ['only when it is broadcast again', 1],
])(
  'one that a node accepts %s does not fail because another node rejects it, and is paid once mined',
  async (_, acceptedAt) => {
    let isHidden = true
    let broadcasts = 0
    const { rpcUrl, pool, settle, until, mine } = await withManualMining({
      variables: { SETTLE_TIMEOUT_SECONDS: '1' },
      families: faulty((chain) => ({
        node: {
          async broadcast(transaction) {
            if (broadcasts++ !== acceptedAt) throw new TransactionRejected('transaction underpriced')
            await chain.node.broadcast(transaction)
            throw new ChainUnavailable('limit exceeded')
          },
          transactionStatus: (hash) =>
            isHidden ? Promise.resolve({ status: 'unknown' }) : chain.node.transactionStatus(hash),
        },
      })),
    })
    const payer = await payerOn(rpcUrl)
    const body = await rawRequest(rawOf(payer))
    expect(await settle(body)).toMatchObject({ errorReason: 'settlement_pending' })
    await until('transactions', 1)
    await pool.query("UPDATE transactions SET signed_at = now() - INTERVAL '2 minutes'")
    await until("settlements WHERE last_error LIKE '%underpriced%'", 1)
    const before = broadcasts
    while (broadcasts < before + 3) await delay(50)
    expect(await settle(body)).toMatchObject({ errorReason: 'settlement_pending' })

    isHidden = false
    await mine()
    await until("settlements WHERE status = 'settled'", 1)
    expect(await settle(body)).toMatchObject({ success: true })
    expect(await transfersFrom(rpcUrl, payer.address)).toHaveLength(1)
  },
)

test('one that no node accepts fails in the end, even if its status was read while the first node rejected it', async () => {
  let markStatusRead = () => {}
  const statusRead = new Promise<void>((resolve) => (markStatusRead = resolve))
  let isRejectionStored: () => Promise<boolean> = () => Promise.resolve(false)
  let statusReads = 0
  const { pool, rpcUrl, settle, count, until } = await withManualMining({
    variables: { SETTLE_TIMEOUT_SECONDS: '1' },
    families: faulty((chain) => ({
      node: {
        async broadcast() {
          await statusRead
          throw new TransactionRejected('transaction underpriced')
        },
        async transactionStatus(hash) {
          markStatusRead()
          if (statusReads++ === 0) {
            while (!(await isRejectionStored())) await delay(10)
            // The broadcaster may still be handling the rejection.
            await delay(100)
          }
          return chain.node.transactionStatus(hash)
        },
      },
    })),
  })
  isRejectionStored = async () => (await count('transactions WHERE submitted_at IS NULL')) === 1
  expect(await settle(await rawRequest(rawOf(await payerOn(rpcUrl))))).toMatchObject({
    errorReason: 'settlement_pending',
  })
  await until('transactions', 1)
  await pool.query("UPDATE transactions SET signed_at = now() - INTERVAL '2 minutes'")
  await until("settlements WHERE status = 'failed'", 1)
})

test('one that reverted stays failed, even if stale nodes call it valid again', async () => {
  const { rpcUrl, settle, count, until, mine } = await withManualMining({
    variables: { SETTLE_TIMEOUT_SECONDS: '1' },
    families: faulty(() => ({ payments: { verify: () => Promise.resolve(undefined) } })),
  })
  const body = await rawRequest(rawOf(await payerOn(rpcUrl), { gasLimit: 30_000 }))
  expect(await settle(body)).toMatchObject({ errorReason: 'settlement_pending' })
  await until(SENT, 1)
  await mine()
  await until("settlements WHERE status = 'failed'", 1)
  expect(await settle(body)).toMatchObject({ success: false, errorReason: 'invalid_transaction_state' })
  expect(await count("settlements WHERE status = 'failed' AND attempts = 1")).toBe(1)
})

test('one is not broadcast again during its first broadcast', async () => {
  let broadcasts = 0
  let statusReads = 0
  let release = () => {}
  const released = new Promise<void>((resolve) => (release = resolve))
  const { rpcUrl, settle, until, mine } = await withManualMining({
    families: faulty((chain) => ({
      node: {
        async broadcast(transaction) {
          broadcasts++
          await released
          return chain.node.broadcast(transaction)
        },
        async transactionStatus(hash) {
          statusReads++
          return chain.node.transactionStatus(hash)
        },
      },
    })),
  })
  const answer = settle(await rawRequest(rawOf(await payerOn(rpcUrl))))
  while (statusReads < 5) await delay(20)
  expect(broadcasts).toBe(1)
  release()
  await until(SENT, 1)
  await mine()
  expect(await answer).toMatchObject({ success: true })
})

test('one that a node evicted, that its payer sent itself, and that a reorg drops while it is reclaimed, is sent and paid', async () => {
  let isRefused = true
  let drop = () => Promise.resolve<unknown>(undefined)
  const { rpcUrl, pool, settle, until, mine } = await withManualMining({
    variables: { SETTLE_TIMEOUT_SECONDS: '1' },
    families: faulty((chain) => ({
      node: {
        broadcast: (transaction) =>
          isRefused
            ? Promise.reject(new TransactionRejected('insufficient funds for gas'))
            : chain.node.broadcast(transaction),
      },
      payments: {
        async paymentStatus(...about) {
          const found = await chain.payments.paymentStatus(...about)
          if (found.status === 'settled') await drop()
          return found
        },
      },
    })),
  })
  const payer = await payerOn(rpcUrl)
  const raw = rawOf(payer)
  const body = await rawRequest(raw)
  expect(await settle(body)).toMatchObject({ errorReason: 'settlement_pending' })
  await until('transactions', 1)
  await pool.query("UPDATE transactions SET signed_at = now() - INTERVAL '2 minutes'")
  await until("settlements WHERE status = 'failed'", 1)
  // As if one node had accepted it before all rejected it.
  await pool.query('UPDATE settlements SET transaction_hash = $1', [Transaction.from(raw).hash])

  isRefused = false
  await callRpc(rpcUrl, 'eth_sendRawTransaction', raw)
  await mine()
  drop = () => {
    drop = () => Promise.resolve()
    return callRpc(rpcUrl, 'anvil_reorg', 1, [])
  }
  expect(await settle(body)).toMatchObject({ errorReason: 'settlement_pending' })
  await until(SENT, 1)
  await mine()
  await until("settlements WHERE status = 'settled'", 1)
  expect(await settle(body)).toMatchObject({ success: true, transaction: Transaction.from(raw).hash })
  expect(await transfersFrom(rpcUrl, payer.address)).toHaveLength(1)
  const { rows } = await pool.query(
    'SELECT hash FROM transactions UNION ALL SELECT hash FROM transaction_versions',
  )
  expect(rows).toHaveLength(2)
})

test('one that no node accepted buys nothing once its payer has sent it, and is sent and paid otherwise', async () => {
  let isRefused = true
  const { rpcUrl, pool, settle, until, mine, count } = await withManualMining({
    variables: { SETTLE_TIMEOUT_SECONDS: '1' },
    families: faulty((chain) => ({
      node: {
        broadcast: (transaction) =>
          isRefused
            ? Promise.reject(new TransactionRejected('insufficient funds for gas'))
            : chain.node.broadcast(transaction),
      },
    })),
  })
  const raws = [rawOf(await payerOn(rpcUrl)), rawOf(await payerOn(rpcUrl))] as const
  const [spent, unspent] = [await rawRequest(raws[0]), await rawRequest(raws[1])]
  for (const body of [spent, unspent])
    expect(await settle(body)).toMatchObject({ errorReason: 'settlement_pending' })
  await until('transactions', 2)
  await pool.query("UPDATE transactions SET signed_at = now() - INTERVAL '2 minutes'")
  await until("settlements WHERE status = 'failed'", 2)

  isRefused = false
  await callRpc(rpcUrl, 'eth_sendRawTransaction', raws[0])
  await mine()
  expect(await settle(spent)).toMatchObject({ success: false, errorReason: 'invalid_transaction_state' })
  expect(await settle(unspent)).toMatchObject({ errorReason: 'settlement_pending' })
  await until(SENT, 1)
  await mine()
  await until("settlements WHERE status = 'settled'", 1)
  expect(await settle(unspent)).toMatchObject({ success: true, transaction: Transaction.from(raws[1]).hash })
  expect(await count("settlements WHERE status = 'failed'")).toBe(1)
})
