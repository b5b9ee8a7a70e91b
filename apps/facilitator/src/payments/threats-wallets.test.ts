import { USDC_ADDRESS } from '@tollgate/devnet'
import { closeAll } from '@tollgate/testing'
import { id, Wallet } from 'ethers'
import { setTimeout as delay } from 'node:timers/promises'
import { callRpc, newPayer, sharedChain, transactionCount, transfersFrom } from '../testing/chain'
import { facilitatorWithClient, type FacilitatorWithClient } from '../testing/facilitator-with-client'
import { SENT, withSignature } from '../testing/hostile'
import { withManualMining } from '../testing/manual-mining'
import { AMOUNT, inSeconds, paymentRequest, type PaymentRequest } from '../testing/payment'

afterAll(closeAll)

const MAGIC = `7f${id('isValidSignature(bytes32,bytes)').slice(2, 10).padEnd(64, '0')}`
const RETURN_WORD = '5f5260205ff3'

/** Payers that are contracts of a few instructions. */
const wallets = {
  honest: `0x${MAGIC}${RETURN_WORD}`,
  refusing: `0x5f${RETURN_WORD}`,
  endless: '0x5b5f56',
  /** Returns a megabyte. */
  talkative: '0x620fffff5ff3',
  silent: '0x00',
  /** Accepts signatures in calls and rejects them in transactions. */
  lying: `0x${MAGIC}3a1502${RETURN_WORD}`,
  /** The same, but in a transaction it never returns. */
  trapping: `0x3a602b57${MAGIC}${RETURN_WORD}5b602b56`,
}

/** A payment of a contract with this code that holds the price. */
async function paymentOf(rpcUrl: string, code: string): Promise<PaymentRequest> {
  return paymentFrom(await contractWith(rpcUrl, code))
}

async function contractWith(rpcUrl: string, code: string): Promise<string> {
  const { address } = Wallet.createRandom()
  await callRpc(rpcUrl, 'anvil_setCode', address, code)
  await callRpc(rpcUrl, 'anvil_dealERC20', address, USDC_ADDRESS, `0x${(20n * AMOUNT).toString(16)}`)
  return address
}

async function paymentFrom(
  contract: string,
  authorization: { validBefore?: string } = {},
): Promise<PaymentRequest> {
  const body = await paymentRequest(Wallet.createRandom(), {
    authorization: { from: contract, ...authorization },
  })
  return withSignature(body, `0x${'5c'.repeat(65)}`)
}

/** A payment of a wallet that signs with its key and has delegated its account to this code (EIP-7702). */
async function delegatedPayment(rpcUrl: string, code: string): Promise<PaymentRequest> {
  const payer = await newPayer(rpcUrl)
  await callRpc(rpcUrl, 'anvil_setCode', payer.address, code)
  return paymentRequest(payer)
}

const payerOf = ({ paymentPayload }: PaymentRequest) => paymentPayload.payload.authorization.from

describe('a contract wallet is refused without gas if it', () => {
  let harness: FacilitatorWithClient
  beforeAll(async () => (harness = await facilitatorWithClient()))

  test.each([
    ['accepts no signature', 'refusing'],
    ['never returns', 'endless'],
    ['returns a megabyte', 'talkative'],
    ['returns nothing', 'silent'],
  ] as const)('%s', async (_, kind) => {
    const body = await paymentOf(sharedChain(), wallets[kind])
    await harness.expectRefused(body, 'invalid_exact_evm_payload_signature')
  })
})

test('a wallet that accepts signatures only in calls causes at most three transactions and no success', async () => {
  const { rpcUrl, signer, pool, settle, mine, until, onTheirWay } = await withManualMining()
  const liars = await Promise.all([paymentOf(rpcUrl, wallets.lying), paymentOf(rpcUrl, wallets.trapping)])
  const answers = liars.map((body) => settle(body))
  for (let times = 1; times <= 3; times++) {
    await onTheirWay(2)
    await mine()
    await until("transactions WHERE status = 'mined'", 2 * times)
  }
  await until("settlements WHERE last_error LIKE '3 transactions % settled nothing within a day'", 2)
  await callRpc(rpcUrl, 'evm_increaseTime', 120)
  await mine()
  for (const answer of answers)
    expect(await answer).toMatchObject({ success: false, errorReason: 'payment_expired', transaction: '' })
  for (const body of liars) expect(await transfersFrom(rpcUrl, payerOf(body))).toEqual([])
  expect(await transactionCount(rpcUrl, signer.address)).toBe(6)
  expect((await pool.query('SELECT FROM transactions')).rowCount).toBe(6)
})

test('a wallet that lies costs three transactions a day, one at a time, however many payments it makes', async () => {
  const { rpcUrl, signer, pool, settle, count, mine, until, onTheirWay } = await withManualMining({
    variables: { SETTLE_TIMEOUT_SECONDS: '1' },
  })
  const liar = await contractWith(rpcUrl, wallets.lying)
  const bodies = await Promise.all(Array.from({ length: 6 }, () => paymentFrom(liar)))
  const answers = await Promise.all(bodies.map((body) => settle(body)))
  expect(answers.map(({ errorReason }) => errorReason)).toEqual(bodies.map(() => 'settlement_pending'))
  for (let times = 1; times <= 3; times++) {
    await onTheirWay(1)
    expect(await count("transactions WHERE status = 'signed'")).toBe(1)
    await mine()
    await until("transactions WHERE status = 'mined'", times)
  }

  await callRpc(rpcUrl, 'evm_increaseTime', 120)
  await mine()
  while ((await count("settlements WHERE status = 'failed'")) < bodies.length) await delay(50)
  const validBefore = inSeconds(3_600)
  const later = await paymentFrom(liar, { validBefore })
  expect(await settle(later)).toMatchObject({ success: false, errorReason: 'invalid_transaction_state' })
  expect(await transactionCount(rpcUrl, signer.address)).toBe(3)

  await pool.query("UPDATE transactions SET signed_at = now() - INTERVAL '25 hours'")
  expect(await settle(await paymentFrom(liar, { validBefore }))).toMatchObject({
    errorReason: 'settlement_pending',
  })
  await until('transactions', 4)
})

test('payments of contract wallets are sent alone, so that a lying wallet fails no other payment', async () => {
  const { rpcUrl, pool, settle, until, mine } = await withManualMining()
  const payers = await Promise.all(Array.from({ length: 6 }, () => newPayer(rpcUrl)))
  const honest = await Promise.all(payers.map((payer) => paymentRequest(payer)))
  const contracts = {
    honest: await paymentOf(rpcUrl, wallets.honest),
    lying: await paymentOf(rpcUrl, wallets.lying),
    trapping: await paymentOf(rpcUrl, wallets.trapping),
    delegated: await delegatedPayment(rpcUrl, wallets.trapping),
  }
  const liars = [contracts.lying, contracts.trapping, contracts.delegated]
  const mixed = [...honest.slice(0, 2), ...Object.values(contracts), ...honest.slice(2)]
  const answers = mixed.map((body) => settle(body))
  await until(SENT, mixed.length)
  const { rows } = await pool.query<{ payer: string; beside: number }>(
    `SELECT payer, (SELECT count(*)::int FROM settlements o WHERE o.transaction_id = s.transaction_id) AS beside
     FROM settlements s`,
  )
  const contractPayers = Object.values(contracts).map(payerOf)
  expect(rows.filter(({ payer }) => contractPayers.includes(payer)).map(({ beside }) => beside)).toEqual([
    1, 1, 1, 1,
  ])
  expect(Math.max(...rows.map(({ beside }) => beside))).toBeGreaterThan(1)

  await mine()
  for (const [index, body] of mixed.entries()) {
    if (liars.includes(body)) continue
    expect(await answers[index]).toMatchObject({ success: true, payer: payerOf(body) })
    expect(await transfersFrom(rpcUrl, payerOf(body))).toHaveLength(1)
  }
  await until("settlements WHERE status = 'settled'", mixed.length - liars.length)
  await callRpc(rpcUrl, 'evm_increaseTime', 120)
  await mine()
  for (const body of liars) {
    expect(await answers[mixed.indexOf(body)]).toMatchObject({
      success: false,
      errorReason: 'payment_expired',
    })
    expect(await transfersFrom(rpcUrl, payerOf(body))).toEqual([])
  }
})
