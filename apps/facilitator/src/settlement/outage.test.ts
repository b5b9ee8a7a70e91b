import { type AnvilOptions } from '@tollgate/devnet'
import { closeAll } from '@tollgate/testing'
import { callRpc, newPayer, newSigner, ownChain, transactionCount, transfersFrom } from '../testing/chain'
import { newClient, testFacilitator } from '../testing/facilitator'
import { facilitatorWithClient } from '../testing/facilitator-with-client'
import { AMOUNT, paymentRequest, type PaymentRequest } from '../testing/payment'

const AN_HOUR = 3_600

afterAll(closeAll)

/** A facilitator on a chain of its own. */
async function alone(options: { chain?: AnvilOptions; variables?: Record<string, string> } = {}) {
  const chain = await ownChain(options.chain)
  const { rpcUrl } = chain
  const { api, client, signer, facilitator, settle, settleAtLast } = await facilitatorWithClient({
    rpcUrl,
    variables: options.variables ?? {},
  })
  const post = (path: string, body: PaymentRequest) => api.post(path).set(client).send(body)

  /** The transaction reported for a pending payment, once the node has it. */
  async function sent(body: PaymentRequest): Promise<string> {
    for (;;) {
      const { errorReason, transaction } = await settle(body)
      expect(errorReason).toBe('settlement_pending')
      if (transaction !== '' && (await callRpc(rpcUrl, 'eth_getTransactionByHash', transaction)) !== null)
        return transaction
    }
  }
  return { chain, rpcUrl, signer, facilitator, post, settle, settleAtLast, sent }
}

describe('while the chain mines nothing', () => {
  const slow = { chain: { blockTime: AN_HOUR }, variables: { SETTLE_TIMEOUT_SECONDS: '1' } }

  test.concurrent('an asset that is retired meanwhile refuses new payments, and not the pending one', async () => {
    const { rpcUrl, settle, sent, settleAtLast, facilitator } = await alone(slow)
    const body = await paymentRequest(await newPayer(rpcUrl))
    const transaction = await sent(body)

    await facilitator.database.prisma.asset.updateMany({ data: { active: false } })
    expect(await settle(await paymentRequest(await newPayer(rpcUrl)))).toMatchObject({
      errorReason: 'invalid_payment_requirements',
    })
    expect(await settle(body)).toMatchObject({ errorReason: 'settlement_pending', transaction })
    const asking = settleAtLast(body)
    await callRpc(rpcUrl, 'evm_mine')
    expect(await asking).toMatchObject({ success: true, transaction })
  })

  test.concurrent('a settlement whose nonce goes to another transaction is sent again with the next nonce, and settles once', async () => {
    const { rpcUrl, signer, settle, sent, settleAtLast } = await alone(slow)
    const payer = await newPayer(rpcUrl)
    const body = await paymentRequest(payer)
    const transaction = await sent(body)

    await callRpc(rpcUrl, 'anvil_dropTransaction', transaction)
    const other = { to: signer.address, nonce: 0, gasLimit: 21_000, chainId: 84532 }
    const fees = { maxFeePerGas: 50_000_000_000n, maxPriorityFeePerGas: 1_000_000_000n }
    await callRpc(
      rpcUrl,
      'eth_sendRawTransaction',
      await signer.signTransaction({ ...other, ...fees, type: 2 }),
    )
    await callRpc(rpcUrl, 'evm_mine')
    while ((await settle(body)).transaction === transaction);
    const next = await sent(body)
    expect(next).not.toBe(transaction)

    await callRpc(rpcUrl, 'evm_mine')
    expect(await settleAtLast(body)).toMatchObject({ success: true, transaction: next })
    expect(await transfersFrom(rpcUrl, payer.address)).toHaveLength(1)
  })

  test.concurrent('a settlement is pending in time; its outcome is reported once to a repeated request', async () => {
    const { rpcUrl, signer, settle, sent, settleAtLast } = await alone(slow)
    const payer = await newPayer(rpcUrl)
    const body = await paymentRequest(payer)

    await sent(body)
    const first = await settle(body)
    expect(first).toMatchObject({
      success: false,
      errorReason: 'settlement_pending',
      network: 'base-sepolia',
      transaction: expect.stringMatching(/^0x[0-9a-f]{64}$/) as string,
      payer: '',
      blockNumber: 0,
    })
    expect(await settle(body)).toMatchObject({
      errorReason: 'settlement_pending',
      transaction: first.transaction,
    })

    const asking = settleAtLast(body)
    await callRpc(rpcUrl, 'evm_mine')
    const told = await asking
    expect(told).toMatchObject({ success: true, transaction: first.transaction, payer: payer.address })
    expect(await settle(body)).toMatchObject({ success: false, errorReason: 'duplicate_settlement' })
    expect(await transactionCount(rpcUrl, signer.address)).toBe(1)
    expect((await transfersFrom(rpcUrl, payer.address)).map(({ value }) => value)).toEqual([AMOUNT])
  })

  test.concurrent('waits no longer than maxTimeoutSeconds', async () => {
    const { rpcUrl, settle } = await alone({ ...slow, variables: { SETTLE_TIMEOUT_SECONDS: '20' } })
    const body = await paymentRequest(await newPayer(rpcUrl), { requirements: { maxTimeoutSeconds: 1 } })
    const askedAt = performance.now()
    expect(await settle(body)).toMatchObject({ errorReason: 'settlement_pending' })
    expect(performance.now() - askedAt).toBeLessThan(10_000)
  })

  test.concurrent('broadcasts a transaction again that its node has forgotten', async () => {
    const { rpcUrl, signer, sent, settleAtLast } = await alone(slow)
    const body = await paymentRequest(await newPayer(rpcUrl))
    const transaction = await sent(body)
    await callRpc(rpcUrl, 'anvil_dropTransaction', transaction)

    for (;;) {
      const pooled = await callRpc(rpcUrl, 'eth_getTransactionByHash', transaction)
      if (pooled) break
    }
    await callRpc(rpcUrl, 'evm_mine')
    expect(await settleAtLast(body)).toMatchObject({ success: true, transaction })
    expect(await transactionCount(rpcUrl, signer.address)).toBe(1)
  })
})

describe('while the chain is down', () => {
  test.concurrent('nothing is claimed or listed, and everything continues once the chain is back', async () => {
    const { chain, rpcUrl, facilitator, post, settle } = await alone()
    const payer = await newPayer(rpcUrl)
    const body = await paymentRequest(payer)
    const { api, database } = facilitator
    await chain.stop()

    const settled = await post('/api/v1/settle', body)
    expect([settled.status, (settled.body as { code: string }).code]).toEqual([500, 'SETTLEMENT_FAILED'])
    const verified = await post('/api/v1/verify', body)
    expect([verified.status, (verified.body as { code: string }).code]).toEqual([500, 'VERIFICATION_FAILED'])
    expect(await database.prisma.settlement.count()).toBe(0)
    expect((await api.get('/api/v1/networks').expect(200)).body).toEqual({ kinds: [] })
    expect((await api.get('/api/v1/networks/base-sepolia').expect(503)).body).toMatchObject({
      code: 'UNAVAILABLE',
    })
    await api.get('/health').expect(200)

    const back = await ownChain({ port: Number(new URL(rpcUrl).port) })
    await callRpc(
      back.rpcUrl,
      'anvil_setBalance',
      facilitator.networks.all[0]!.chain.signer.addresses[0],
      '0xde0b6b3a7640000',
    )
    const second = await paymentRequest(await newPayer(rpcUrl))
    expect(await settle(second)).toMatchObject({ success: true })
  })

  test.concurrent('a facilitator starts, and registers its assets once the chain is there', async () => {
    const chain = await ownChain()
    const { rpcUrl } = chain
    const signer = await newSigner(rpcUrl)
    const payer = await newPayer(rpcUrl)
    await chain.stop()
    const { api } = await testFacilitator({ rpcUrl, signerKeys: [signer.privateKey] })
    const client = await newClient(api)
    const body = await paymentRequest(payer)
    const answer = await api.post('/api/v1/verify').set(client).send(body)
    expect([answer.status, (answer.body as { code: string }).code]).toEqual([500, 'VERIFICATION_FAILED'])

    await ownChain({ port: Number(new URL(rpcUrl).port) })
    for (;;) {
      const { data } = (await api.get('/api/v1/assets').expect(200)).body as { data: unknown[] }
      if (data.length > 0) break
    }
  })
})

test.concurrent('a stopping facilitator answers its waiting requests, and the next one finishes their settlement', async () => {
  const { rpcUrl, facilitator, settle } = await alone({ chain: { blockTime: AN_HOUR } })
  const body = await paymentRequest(await newPayer(rpcUrl))
  const waiting = settle(body)
  for (;;)
    if ((await facilitator.database.prisma.settlement.count({ where: { status: 'signed' } })) === 1) break
  facilitator.settlementWaiter.drain()
  const { transaction } = await waiting
  expect(await waiting).toMatchObject({ errorReason: 'settlement_pending' })
  await facilitator.close()

  const next = await testFacilitator(facilitator.settings)
  await callRpc(rpcUrl, 'evm_mine')
  const { hash, status } = await settledRow(next)
  expect([hash, status]).toEqual([transaction, 'settled'])
})

async function settledRow({ database }: Awaited<ReturnType<typeof testFacilitator>>) {
  for (;;) {
    const row = await database.prisma.settlement.findFirstOrThrow()
    if (row.status === 'settled') return { hash: row.transactionHash, status: row.status }
  }
}
