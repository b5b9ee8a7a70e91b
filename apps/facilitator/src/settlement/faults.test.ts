import { ChainUnavailable, type Chain } from '@tollgate/chains'
import { USDC_ADDRESS } from '@tollgate/devnet'
import { closeAll, eventually } from '@tollgate/testing'
import { Transaction, type BaseWallet } from 'ethers'
import { setTimeout as delay } from 'node:timers/promises'
import { callRpc, newPayer, sharedChain, transactionCount, transfersFrom } from '../testing/chain'
import { facilitatorWithClient } from '../testing/facilitator-with-client'
import { faulty, type Faults } from '../testing/faulty'
import { AMOUNT, inSeconds, paymentRequest, type PaymentRequest } from '../testing/payment'
import { sendAuthorization } from '../testing/third-party'

const rpcUrl = sharedChain()

afterAll(closeAll)

/** Settles one payment while `fault` does its worst to the chain between us and it. */
async function settleWith(
  fault: (chain: Chain, parts: { body: PaymentRequest; drain: () => Promise<unknown> }) => Faults,
  authorization: { validBefore?: string } = {},
) {
  const payer = await newPayer(rpcUrl)
  const body = await paymentRequest(payer, { authorization })
  const drain = () => callRpc(rpcUrl, 'anvil_dealERC20', payer.address, USDC_ADDRESS, '0x0')
  const families = faulty((chain) => fault(chain, { body, drain }))
  const { settleAtLast, facilitator, signer } = await facilitatorWithClient({ families })
  return { result: await settleAtLast(body), settleAtLast, body, facilitator, signer, payer }
}

test.concurrent('a payment whose verification took more than a minute is not claimed', async () => {
  let lateMs = 0
  const { api, client, pool, sent } = await facilitatorWithClient({
    now: () => new Date(Date.now() + lateMs),
    families: faulty((chain) => ({
      payments: {
        async verify(...payment) {
          const verdict = await chain.payments.verify(...payment)
          lateMs += 61_000
          return verdict
        },
      },
    })),
  })
  const body = await paymentRequest(await newPayer(rpcUrl))
  const settle = () => api.post('/api/v1/settle').set(client).send(body)
  expect((await settle().expect(500)).body).toMatchObject({ code: 'SETTLEMENT_FAILED' })
  expect((await pool.query('SELECT FROM settlements')).rowCount).toBe(0)
  expect(await sent()).toBe(0)
})

test.concurrent('a payment that cannot be stored delays no other, and is settled once it can be stored', async () => {
  const { pool, settleAtLast } = await facilitatorWithClient()
  const payers = await Promise.all(Array.from({ length: 6 }, () => newPayer(rpcUrl)))
  const [spoilt] = payers
  await pool.query(`
    CREATE function refuse() returns trigger language plpgsql AS $$ BEGIN raise exception 'not this one'; END $$;
    CREATE trigger refuse before UPDATE ON settlements FOR each row
      WHEN (new.status = 'signed' AND new.payer = '${spoilt!.address}') execute function refuse()`)
  const bodies = await Promise.all(payers.map((payer) => paymentRequest(payer)))
  const answers = bodies.map((body) => settleAtLast(body))
  const others = await Promise.all(answers.slice(1))
  expect(others.map(({ success }) => success)).toEqual(others.map(() => true))
  const refused = `SELECT FROM settlements WHERE status = 'claimed' AND last_error = 'not this one'`
  await eventually(
    () => pool.query(refused),
    ({ rowCount }) => rowCount === 1,
  )

  await pool.query('drop trigger refuse on settlements')
  expect(await answers[0]).toMatchObject({ success: true, payer: spoilt!.address })
})

test.concurrent.each(['prepare', 'sign'])('a payment whose %s throws delays no other', async (step) => {
  const payers = await Promise.all(Array.from({ length: 6 }, () => newPayer(rpcUrl)))
  const [spoilt] = payers
  const spoiltTransactions = new Set<object>()
  const failAt = (at: string) => {
    if (step === at) throw new TypeError('not this one')
  }
  const { pool, settle, settleAtLast } = await facilitatorWithClient({
    families: faulty((chain) => ({
      signer: {
        async prepare(batch, from) {
          const isSpoilt = batch.some(({ payment }) => payment.payer === spoilt!.address)
          if (isSpoilt) failAt('prepare')
          const transaction = await chain.signer.prepare(batch, from)
          if (isSpoilt) spoiltTransactions.add(transaction)
          return transaction
        },
        async sign(transaction) {
          if (spoiltTransactions.has(transaction)) failAt('sign')
          return chain.signer.sign(transaction)
        },
      },
    })),
  })
  const bodies = await Promise.all(payers.map((payer) => paymentRequest(payer)))
  const [first, ...others] = bodies
  settle(first!).catch(() => undefined)
  while ((await pool.query('SELECT FROM settlements WHERE last_error IS NOT NULL')).rowCount === 0)
    await delay(20)
  const results = await Promise.all(others.map((body) => settleAtLast(body)))
  expect(results.map(({ success }) => success)).toEqual(others.map(() => true))
})

describe('a claimed payment', () => {
  test.concurrent('waits while its chain is unavailable, and is settled afterwards', async () => {
    let refusals = 3
    const { result, signer, payer } = await settleWith((chain) => ({
      signer: {
        prepare: (...batch) =>
          refusals-- > 0 ? Promise.reject(new ChainUnavailable('no answer')) : chain.signer.prepare(...batch),
      },
    }))
    expect(result).toMatchObject({ success: true })
    expect(await transactionCount(rpcUrl, signer.address)).toBe(1)
    expect((await transfersFrom(rpcUrl, payer.address)).map(({ value }) => value)).toEqual([AMOUNT])
  })

  test.concurrent('whose payer is drained before it is signed is refused without gas', async () => {
    let looks = 0
    const { result, signer } = await settleWith((chain, { drain }) => ({
      payments: {
        async verify(...payment) {
          if (++looks === 2) await drain()
          return chain.payments.verify(...payment)
        },
      },
    }))
    expect(result).toMatchObject({ success: false, errorReason: 'insufficient_funds' })
    expect(await transactionCount(rpcUrl, signer.address)).toBe(0)
  })

  test.concurrent('that a third party settles before it is signed is a success, without gas', async () => {
    let theirs = ''
    const { result, signer } = await settleWith((chain, { body }) => ({
      signer: {
        async prepare(...batch) {
          theirs ||= await sendAuthorization(rpcUrl, body)
          return chain.signer.prepare(...batch)
        },
      },
    }))
    expect(result).toMatchObject({ success: true, transaction: theirs })
    expect(await transactionCount(rpcUrl, signer.address)).toBe(0)
  })

  test.concurrent('that would revert delays no other', async () => {
    const { settleAtLast } = await settleWith((chain, { body }) => ({
      signer: {
        prepare: (batch, from) =>
          batch.some(({ payment }) => payment.nonce === body.paymentPayload.payload.authorization.nonce)
            ? Promise.resolve({ reason: 'invalid_transaction_state', detail: 'it would revert' })
            : chain.signer.prepare(batch, from),
      },
    }))
    expect(await settleAtLast(await paymentRequest(await newPayer(rpcUrl)))).toMatchObject({ success: true })
  })
})

describe('a signed transaction', () => {
  test.concurrent('that reverted is never a success, is not sent again while it would fail, and fails once it has expired', async () => {
    const { result, body, settleAtLast, signer, payer, facilitator } = await settleWith(
      (chain, { drain }) => ({
        node: {
          async broadcast(transaction) {
            await drain()
            await chain.node.broadcast(transaction)
          },
        },
      }),
      { validBefore: inSeconds(40) },
    )
    expect(result).toMatchObject({ success: false, errorReason: 'payment_expired', transaction: '' })
    expect(await settleAtLast(body)).toMatchObject({ success: false, errorReason: 'payment_expired' })
    expect(await transactionCount(rpcUrl, signer.address)).toBe(1)
    expect(await transfersFrom(rpcUrl, payer.address)).toEqual([])
    const [transaction] = await facilitator.database.prisma.transaction.findMany()
    expect(transaction).toMatchObject({ status: 'mined' })
    expect(Number(transaction?.fee)).toBeGreaterThan(0)
  })

  test.concurrent('that a third party settled first is a success, reported with the third party’s transaction', async () => {
    let theirs = ''
    const { result, payer } = await settleWith((chain, { body }) => ({
      node: {
        async broadcast(transaction) {
          theirs ||= await sendAuthorization(rpcUrl, body)
          await chain.node.broadcast(transaction)
        },
      },
    }))
    expect(result).toMatchObject({ success: true, transaction: theirs })
    expect(await transfersFrom(rpcUrl, payer.address)).toHaveLength(1)
  })

  test.concurrent('whose broadcast failed is broadcast again unchanged', async () => {
    let failures = 2
    const { result, signer, facilitator } = await settleWith((chain) => ({
      node: {
        broadcast: (transaction) =>
          failures-- > 0
            ? Promise.reject(new ChainUnavailable('no answer'))
            : chain.node.broadcast(transaction),
      },
    }))
    const [stored, ...more] = await facilitator.database.prisma.transaction.findMany()
    expect(more).toEqual([])
    expect(result).toMatchObject({ success: true, transaction: stored?.hash })
    expect(await transactionCount(rpcUrl, signer.address)).toBe(1)
  })

  test.concurrent('that the chain has lost is broadcast again before the next one, so that no nonce is missing', async () => {
    const { result, settleAtLast, facilitator, signer } = await settleWith(() => ({}))
    expect(result).toMatchObject({ success: true })
    // As if the chain had been set back by one block.
    await facilitator.database.pool.query(
      `WITH stored AS (
         INSERT INTO transactions (network, signer, nonce, raw, hash)
         SELECT network, signer, 1, $1, $2 FROM transactions RETURNING id
       )
       INSERT INTO transaction_versions (hash, transaction_id, raw) SELECT $2, id, $1 FROM stored`,
      await nextRaw(signer),
    )
    expect(await settleAtLast(await paymentRequest(await newPayer(rpcUrl)))).toMatchObject({ success: true })
    expect(await transactionCount(rpcUrl, signer.address)).toBe(3)
  })
})

/** A transaction of `signer` with the nonce 1 that only costs gas, and its hash. */
async function nextRaw(signer: BaseWallet): Promise<[string, string]> {
  const raw = await signer.signTransaction({
    type: 2,
    chainId: 84532,
    nonce: 1,
    to: signer.address,
    gasLimit: 21_000,
    maxFeePerGas: 10_000_000_000n,
    maxPriorityFeePerGas: 1n,
  })
  return [raw, Transaction.from(raw).hash ?? '']
}
