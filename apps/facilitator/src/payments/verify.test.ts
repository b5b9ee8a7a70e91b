import { createLogger, openEphemeralStore } from '@tollgate/service'
import { closeAll, readableLog } from '@tollgate/testing'
import { callRpc, newPayer, ownChain, sharedChain } from '../testing/chain'
import { newClient, testFacilitator, type ClientHeaders, type TestFacilitator } from '../testing/facilitator'
import { facilitatorWithClient, type FacilitatorWithClient } from '../testing/facilitator-with-client'
import { inSeconds, paymentRequest } from '../testing/payment'

const rpcUrl = sharedChain()
let facilitator: TestFacilitator
let client: ClientHeaders
let verify: FacilitatorWithClient['verify']

beforeAll(async () => {
  ;({ facilitator, client, verify } = await facilitatorWithClient())
})
afterAll(closeAll)

const post = (path: string, body: object) => facilitator.api.post(path).set(client).send(body)

describe('POST /verify', () => {
  test('caches a valid payment for seconds, and only for the same request', async () => {
    const body = await paymentRequest(await newPayer(rpcUrl))
    expect(await verify(body)).toMatchObject({ isValid: true, cachedResult: false })
    expect(await verify(body)).toMatchObject({ isValid: true, cachedResult: true })
    const dearer = { ...body.paymentRequirements, maxAmountRequired: '10001' }
    expect(await verify({ ...body, paymentRequirements: dearer })).toMatchObject({ isValid: false })
  })

  test('does not cache an invalid payment', async () => {
    const body = await paymentRequest(await newPayer(rpcUrl, 0n))
    expect(await verify(body)).toMatchObject({ isValid: false, invalidReason: 'insufficient_funds' })
    expect(await verify(body)).toMatchObject({ isValid: false, cachedResult: false })
  })

  test('evicts a settled payment', async () => {
    const body = await paymentRequest(await newPayer(rpcUrl))
    expect(await verify(body)).toMatchObject({ isValid: true })
    await post('/api/v1/settle', body).expect(200)
    expect(await verify(body)).toMatchObject({ isValid: false, invalidReason: 'invalid_transaction_state' })
  })

  test('does not cache a payment while its settlement is open', async () => {
    const chain = await ownChain({ blockTime: 3_600 })
    const log = readableLog()
    let elapsedMs = 0
    const now = () => new Date(Date.now() + elapsedMs)
    const own = await facilitatorWithClient({
      rpcUrl: chain.rpcUrl,
      ephemeral: await openEphemeralStore({
        logger: createLogger({ service: 'test', level: 'info', stream: log.stream }),
        now,
      }),
      log: log.stream,
      now,
    })
    const body = await paymentRequest(await newPayer(chain.rpcUrl), {
      requirements: { maxTimeoutSeconds: 1 },
      authorization: { validBefore: inSeconds(300) },
    })
    expect(await own.settle(body)).toMatchObject({ errorReason: 'settlement_pending' })
    elapsedMs = 60_000
    for (let i = 0; i < 2; i++)
      expect(await own.verify(body)).toMatchObject({ isValid: true, cachedResult: false })

    await callRpc(chain.rpcUrl, 'evm_mine')
    await log.line('settlement settled')
    expect(await own.verify(body)).toMatchObject({
      isValid: false,
      invalidReason: 'invalid_transaction_state',
    })
    expect(await own.settle(body)).toMatchObject({ success: true })
  })

  test('asks the chain each time if the cache is turned off', async () => {
    const own = await testFacilitator({ rpcUrl, variables: { VERIFICATION_CACHE_TTL_SECONDS: '0' } })
    const headers = await newClient(own.api)
    const body = await paymentRequest(await newPayer(rpcUrl))
    const ask = async (path: string) =>
      (await own.api.post(path).set(headers).send(body).expect(200)).body as object
    for (let count = 0; count < 2; count++)
      expect(await ask('/api/v1/verify')).toMatchObject({ isValid: true, cachedResult: false })
    expect(await ask('/api/v1/settle')).toMatchObject({ success: true })
    expect(await ask('/api/v1/verify')).toMatchObject({ isValid: false })
  })

  test('is never valid after success was reported, even if the cache lost the mark', async () => {
    const chain = await ownChain({ blockTime: 3_600 })
    const log = readableLog()
    // Each facilitator has its own cache, so the second one has no mark of the claim.
    const first = await testFacilitator({
      rpcUrl: chain.rpcUrl,
      variables: { VERIFICATION_CACHE_TTL_SECONDS: '60' },
      log: log.stream,
    })
    const second = await testFacilitator(first.settings)
    const headers = await newClient(first.api)
    const ask = async ({ api }: TestFacilitator, path: string, body: object) =>
      (await api.post(path).set(headers).send(body).expect(200)).body as object
    const body = await paymentRequest(await newPayer(chain.rpcUrl), {
      requirements: { maxTimeoutSeconds: 1 },
      authorization: { validBefore: inSeconds(300) },
    })
    expect(await ask(first, '/api/v1/settle', body)).toMatchObject({ errorReason: 'settlement_pending' })
    expect(await ask(second, '/api/v1/verify', body)).toMatchObject({ isValid: true })
    expect(await ask(second, '/api/v1/verify', body)).toMatchObject({ isValid: true, cachedResult: true })

    await callRpc(chain.rpcUrl, 'evm_mine')
    await log.line('settlement settled')
    expect(await ask(second, '/api/v1/settle', body)).toMatchObject({ success: true })
    expect(await ask(second, '/api/v1/verify', body)).toMatchObject({ isValid: false })
  })

  test('does not cache an authorization for longer than it can be settled', async () => {
    const payer = await newPayer(rpcUrl)
    const body = await paymentRequest(payer, { authorization: { validBefore: inSeconds(8) } })
    expect(await verify(body)).toMatchObject({ isValid: true })
    let last = await verify(body)
    while (last.isValid) last = await verify(body)
    expect(
      Number(body.paymentPayload.payload.authorization.validBefore) - last.timestamp,
    ).toBeGreaterThanOrEqual(5)
    expect((await post('/api/v1/settle', body).expect(200)).body).toMatchObject({ success: false })
  })
})
