import { type SettleResult, type SupportedKindsV2 } from '@tollgate/protocol'
import { closeAll } from '@tollgate/testing'
import { Wallet, type BaseWallet } from 'ethers'
import {
  callRpc,
  newPayer,
  ownChain,
  sharedChain,
  transactionCount,
  transfersFrom,
} from '../../testing/chain'
import { newClient, type ClientHeaders, type TestFacilitator } from '../../testing/facilitator'
import { facilitatorWithClient } from '../../testing/facilitator-with-client'
import { outcomeOf } from '../../testing/outcome'
import { AMOUNT, inVersion2, paymentRequest, type PaymentRequestV2 } from '../../testing/payment'

const rpcUrl = sharedChain()
const network = 'eip155:84532'
let facilitator: TestFacilitator
let client: ClientHeaders
let signer: BaseWallet

beforeAll(async () => {
  ;({ facilitator, client, signer } = await facilitatorWithClient())
})
afterAll(closeAll)

const post = (path: string, body: object, headers: object = {}) =>
  facilitator.api
    .post(path)
    .set({ ...client, ...headers })
    .send(body)
const settle = async (body: object, headers: object = {}) =>
  (await post('/api/v2/settle', body, headers).expect(200)).body as SettleResult
const settleV1 = async (body: object, headers: object = {}) =>
  (await post('/api/v1/settle', body, headers).expect(200)).body as SettleResult
const verify = async (body: object) => (await post('/api/v2/verify', body).expect(200)).body as unknown
const payment = async (changes: Parameters<typeof paymentRequest>[1] = {}) =>
  inVersion2(await paymentRequest(await newPayer(rpcUrl), changes))
/** The request causes neither a transaction nor a claim. */
async function expectNothingDone(ask: () => Promise<void>) {
  const done = async () => [
    await transactionCount(rpcUrl, signer.address),
    await facilitator.database.prisma.settlement.count(),
  ]
  const before = await done()
  await ask()
  expect(await done()).toEqual(before)
}

describe('POST /api/v2/verify', () => {
  test('accepts a valid payment, and caches it for the same request', async () => {
    const body = await payment()
    const valid = {
      isValid: true,
      invalidReason: '',
      payer: body.paymentPayload.payload.authorization.from,
      timestamp: expect.any(Number) as number,
    }
    await expectNothingDone(async () => {
      expect(await verify(body)).toEqual({ ...valid, cachedResult: false })
      expect(await verify(body)).toEqual({ ...valid, cachedResult: true })
    })
    const changed = {
      ...body,
      paymentPayload: { ...body.paymentPayload, resource: { url: 'https://other' } },
    }
    expect(await verify(changed)).toEqual({ ...valid, cachedResult: false })
  })
})

describe('POST /api/v2/settle', () => {
  test('moves exactly the amount to payTo and answers where, with the network as CAIP-2', async () => {
    const body = await payment()
    const { from } = body.paymentPayload.payload.authorization
    const result = await settle(body)
    expect(result).toEqual({
      success: true,
      transaction: expect.stringMatching(/^0x[0-9a-f]{64}$/) as string,
      errorReason: '',
      network,
      payer: from,
      blockNumber: expect.any(Number) as number,
      timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/) as string,
    })
    expect(await transfersFrom(rpcUrl, from)).toEqual([
      {
        from: from.toLowerCase(),
        to: body.paymentRequirements.payTo.toLowerCase(),
        value: AMOUNT,
        transaction: result.transaction,
      },
    ])
  })

  type Change = (body: PaymentRequestV2) => object
  const inPayload =
    (changes: object): Change =>
    (body) => ({ ...body, paymentPayload: { ...body.paymentPayload, ...changes } })

  test.each<[string, Change]>([
    ['no x402Version beside the payload', (body) => ({ ...body, x402Version: undefined })],
    ['no resource', inPayload({ resource: undefined })],
    ['a resource that is null', inPayload({ resource: null })],
    ['a resource without description and media type', inPayload({ resource: { url: 'https://shop' } })],
    ['a resource with members of later versions', inPayload({ resource: { url: 'x', tags: ['a'] } })],
    ['extensions', inPayload({ extensions: { bazaar: { info: {} } } })],
    ['extensions that are null', inPayload({ extensions: null })],
    [
      'extra null',
      (body) => ({ ...body, paymentRequirements: { ...body.paymentRequirements, extra: null } }),
    ],
    [
      'the way of transfer in extra',
      (body) => {
        const extra = { name: 'USDC', version: '2', assetTransferMethod: 'eip3009' }
        return { ...body, paymentRequirements: { ...body.paymentRequirements, extra } }
      },
    ],
    [
      'addresses in other letter case than the payer accepted',
      (body) => {
        const { payTo, asset } = body.paymentRequirements
        return inPayload({
          accepted: {
            ...body.paymentPayload.accepted,
            payTo: payTo.toLowerCase(),
            asset: asset.toLowerCase(),
          },
        })(body)
      },
    ],
    [
      'the payload as base64 of its JSON',
      (body) =>
        inPayload({ payload: Buffer.from(JSON.stringify(body.paymentPayload.payload)).toString('base64') })(
          body,
        ),
    ],
    [
      'networks by name and by chain id',
      (body) => ({
        ...body,
        paymentPayload: {
          ...body.paymentPayload,
          accepted: { ...body.paymentPayload.accepted, network: '84532' },
        },
        paymentRequirements: { ...body.paymentRequirements, network: 'base-sepolia' },
      }),
    ],
  ])('takes %s', async (_name, change) => {
    expect(await settle(change(await payment()))).toMatchObject({ success: true, network })
  })

  describe('refuses, claims nothing and sends nothing, as verify refuses too', () => {
    const other = Wallet.createRandom().address
    type Break = (body: PaymentRequestV2) => unknown
    const accepted =
      (changes: object): Break =>
      (body) =>
        Object.assign(body.paymentPayload.accepted, changes)
    const required =
      (changes: object): Break =>
      (body) =>
        Object.assign(body.paymentRequirements, changes)
    const both =
      (changes: object): Break =>
      (body) => [accepted(changes)(body), required(changes)(body)]

    test.each<[string, string, Break]>([
      [
        'version 1 in the payload',
        'invalid_x402_version',
        ({ paymentPayload }) => (paymentPayload.x402Version = 1),
      ],
      ['version 1 beside it', 'invalid_x402_version', (body) => (body.x402Version = 1)],
      [
        'version 3 everywhere',
        'invalid_x402_version',
        (body) => (body.x402Version = body.paymentPayload.x402Version = 3),
      ],
      ['another scheme', 'unsupported_scheme', both({ scheme: 'upto' })],
      ['another scheme than accepted', 'unsupported_scheme', accepted({ scheme: 'upto' })],
      ['another network', 'invalid_network', both({ network: 'eip155:8453' })],
      ['another network than accepted', 'invalid_network', accepted({ network: 'eip155:8453' })],
      ['another asset', 'invalid_payment_requirements', both({ asset: other })],
      ['another asset than accepted', 'invalid_payment_requirements', accepted({ asset: other })],
      [
        'another recipient than accepted',
        'invalid_exact_evm_payload_recipient_mismatch',
        accepted({ payTo: other }),
      ],
      [
        'another recipient than signed',
        'invalid_exact_evm_payload_recipient_mismatch',
        both({ payTo: other }),
      ],
      ['more than accepted', 'invalid_exact_evm_payload_authorization_value', accepted({ amount: '9999' })],
      ['less than accepted', 'invalid_exact_evm_payload_authorization_value', accepted({ amount: '10001' })],
      ['more than signed', 'invalid_exact_evm_payload_authorization_value', both({ amount: '10001' })],
      [
        'more than accepted and signed',
        'invalid_exact_evm_payload_authorization_value',
        required({ amount: '10001' }),
      ],
      ['nothing', 'invalid_payment_requirements', both({ amount: '0' })],
      [
        'another EIP-712 domain than the token’s',
        'invalid_payment_requirements',
        required({ extra: { name: 'X' } }),
      ],
      [
        'a signature of another account',
        'invalid_exact_evm_payload_signature',
        ({ paymentPayload }) => (paymentPayload.payload.authorization.from = other),
      ],
    ])('%s (%s)', async (_name, reason, change) => {
      const body = await payment()
      change(body)
      await expectNothingDone(async () => {
        expect(await settle(body)).toMatchObject({
          success: false,
          errorReason: reason,
          transaction: '',
          payer: '',
          blockNumber: 0,
          network:
            reason === 'invalid_network' && body.paymentRequirements.network !== network ? '' : network,
        })
        expect(await verify(body)).toMatchObject({ isValid: false, invalidReason: reason, payer: '' })
      })
    })

    test.each(['2', null, [], {}])(
      'another version beside requirements that say their own as %j',
      async (odd) => {
        const body = await payment()
        body.paymentPayload.x402Version = 1
        Object.assign(body.paymentRequirements, { x402Version: odd })
        await expectNothingDone(async () => {
          for (const path of ['/api/v2/verify', '/api/v2/settle'])
            expect((await post(path, body).expect(400)).body).toMatchObject({ code: 'INVALID_REQUEST' })
        })
      },
    )

    test('a request of version 1, as version 1 refuses one of version 2', async () => {
      const body = await paymentRequest(await newPayer(rpcUrl))
      const refused = { success: false, errorReason: 'invalid_x402_version', transaction: '' }
      await expectNothingDone(async () => {
        expect(await settle(body)).toMatchObject({ ...refused, network })
        expect(await settleV1(inVersion2(body))).toMatchObject({ ...refused, network: 'base-sepolia' })
        expect((await post('/api/v1/verify', inVersion2(body)).expect(200)).body).toMatchObject({
          isValid: false,
          invalidReason: 'invalid_x402_version',
        })
      })
    })
  })

  const permit2Authorization = { permitted: { token: network, amount: '1' }, from: '0x', nonce: '1' }
  test.each<[string, object, RegExp]>([
    ['a Permit2 payload', { payload: { signature: '0x', permit2Authorization } }, /decoded/],
    ['a payload that is no payment', { payload: { transaction: 'AAAA' } }, /decoded/],
    ['a payload that is not base64', { payload: '%%%' }, /decoded/],
  ])('answers 400 INVALID_PAYLOAD to %s, and says why', async (_name, changes, says) => {
    const body = await payment()
    for (const path of ['/api/v2/verify', '/api/v2/settle'])
      await expectNothingDone(async () => {
        const answer = await post(path, { ...body, paymentPayload: { ...body.paymentPayload, ...changes } })
        expect(outcomeOf(answer)).toEqual([400, 'INVALID_PAYLOAD'])
        expect((answer.body as { message: string }).message).toMatch(says)
      })
  })

  test('answers 400 INVALID_REQUEST to a missing member, and to amounts that are not digits', async () => {
    const { paymentPayload, paymentRequirements } = await payment()
    const { accepted, ...unaccepted } = paymentPayload
    const free = { ...paymentRequirements, amount: undefined }
    const bodies = [
      {},
      { paymentPayload },
      { paymentRequirements },
      { paymentPayload: unaccepted, paymentRequirements },
      { paymentPayload: { ...paymentPayload, accepted: free }, paymentRequirements },
      { paymentPayload, paymentRequirements: free },
      { paymentPayload, paymentRequirements: { ...free, maxAmountRequired: '10000' } },
      ...['1e4', '0x10', '-1', '1.0', 10_000].flatMap((amount) => [
        { paymentPayload, paymentRequirements: { ...free, amount } },
        { paymentPayload: { ...paymentPayload, accepted: { ...accepted, amount } }, paymentRequirements },
      ]),
    ]
    for (const path of ['/api/v2/verify', '/api/v2/settle'])
      for (const body of bodies) expect(outcomeOf(await post(path, body))).toEqual([400, 'INVALID_REQUEST'])
  })

  test('reports success again only to a repeat of its Idempotency-Key and body', async () => {
    const body = await payment()
    const first = await settle(body, { 'Idempotency-Key': 'order-1' })
    expect(first).toMatchObject({ success: true })
    expect(await settle(body, { 'Idempotency-Key': 'order-1' })).toEqual(first)
    const duplicate = { success: false, errorReason: 'duplicate_settlement', transaction: '', network }
    expect(await settle(body)).toMatchObject(duplicate)
    const otherClient = await newClient(facilitator.api)
    expect(await settle(body, { ...otherClient, 'Idempotency-Key': 'order-1' })).toMatchObject(duplicate)
    const again = { ...body, paymentPayload: { ...body.paymentPayload, resource: { url: 'https://other' } } }
    expect(await settle(again, { 'Idempotency-Key': 'order-1' })).toMatchObject(duplicate)
    expect(outcomeOf(await post('/api/v2/settle', body, { 'Idempotency-Key': 'no good' }))).toEqual([
      400,
      'INVALID_REQUEST',
    ])
  })
})

describe('one authorization that comes by version 1 and by version 2', () => {
  test.each([
    ['one client', 1],
    ['two clients', 2],
  ])('many times at once from %s is one transfer and one success', async (_name, clients) => {
    const payer = await newPayer(rpcUrl)
    const body = await paymentRequest(payer)
    const other = clients === 2 ? await newClient(facilitator.api) : client
    const sent = await transactionCount(rpcUrl, signer.address)

    const results = await Promise.all(
      Array.from({ length: 20 }, (_, i) => (i % 2 ? settle(inVersion2(body), other) : settleV1(body))),
    )

    expect(results.filter(({ success }) => success)).toHaveLength(1)
    expect(new Set(results.filter(({ success }) => !success).map(({ errorReason }) => errorReason))).toEqual(
      new Set(['duplicate_settlement']),
    )
    expect(await transactionCount(rpcUrl, signer.address)).toBe(sent + 1)
    expect((await transfersFrom(rpcUrl, payer.address)).map(({ value }) => value)).toEqual([AMOUNT])
  })

  test('one after the other is one transfer, whichever is first and whatever its Idempotency-Key', async () => {
    const headers = { 'Idempotency-Key': 'order-2' }
    const duplicate = { success: false, errorReason: 'duplicate_settlement' }
    const [one, two] = [await newPayer(rpcUrl), await newPayer(rpcUrl)]
    const [first, second] = [await paymentRequest(one), await paymentRequest(two)]
    expect(await settleV1(first, headers)).toMatchObject({ success: true, network: 'base-sepolia' })
    expect(await settle(inVersion2(first), headers)).toMatchObject(duplicate)
    expect(await settle(inVersion2(second), headers)).toMatchObject({ success: true, network })
    expect(await settleV1(second, headers)).toMatchObject(duplicate)
    for (const { address } of [one, two]) expect(await transfersFrom(rpcUrl, address)).toHaveLength(1)
  })

  test('is valid to neither once it is settled by the other', async () => {
    const body = await paymentRequest(await newPayer(rpcUrl))
    expect(await verify(inVersion2(body))).toMatchObject({ isValid: true })
    expect(await settleV1(body)).toMatchObject({ success: true })
    expect(await verify(inVersion2(body))).toMatchObject({
      isValid: false,
      invalidReason: 'invalid_transaction_state',
    })
  })
})

describe('GET /api/v2/supported', () => {
  test('lists the networks of version 2, their signers and their extensions', async () => {
    const answer = await facilitator.api.get('/api/v2/supported').set(client).expect(200)
    expect(answer.body).toEqual({
      kinds: [{ x402Version: 2, scheme: 'exact', network }],
      extensions: ['eip2612GasSponsoring'],
      signers: { [network]: [signer.address] },
    } satisfies SupportedKindsV2)
  })
})

test('the three routes take a client key whose scope covers them, and nothing else', async () => {
  const body = await payment()
  const { api } = facilitator
  const ask = {
    verify: (headers: object) =>
      api
        .post('/api/v2/verify')
        .set({ ...headers })
        .send(body),
    settle: (headers: object) =>
      api
        .post('/api/v2/settle')
        .set({ ...headers })
        .send(body),
    supported: (headers: object) => api.get('/api/v2/supported').set({ ...headers }),
  }
  await expectNothingDone(async () => {
    for (const [operation, send] of Object.entries(ask)) {
      expect(outcomeOf(await send({}))).toEqual([401, 'UNAUTHORIZED'])
      expect(outcomeOf(await send({ ...client, 'X-Client-Token': 'other' }))).toEqual([401, 'UNAUTHORIZED'])
      const scope = Object.keys(ask)
        .filter((word) => word !== operation)
        .join(',')
      expect(outcomeOf(await send(await newClient(api, { scope })))).toEqual([403, 'FORBIDDEN'])
    }
  })
})

describe('on a chain of its own', () => {
  async function alone(blockTime?: number) {
    const chain = await ownChain(blockTime === undefined ? {} : { blockTime })
    const { api, client } = await facilitatorWithClient({
      rpcUrl: chain.rpcUrl,
      variables: { SETTLE_TIMEOUT_SECONDS: '1' },
    })
    const body = inVersion2(await paymentRequest(await newPayer(chain.rpcUrl)))
    return {
      chain,
      body,
      payer: body.paymentPayload.payload.authorization.from,
      supported: () => api.get('/api/v2/supported').set(client).expect(200),
      post: (path: string) => api.post(path).set(client).send(body),
    }
  }

  test('a settlement is pending until it is mined; a repeat of the body gets its outcome once', async () => {
    const { chain, payer, post } = await alone(3_600)
    const settle = async () => (await post('/api/v2/settle').expect(200)).body as SettleResult
    const first = await settle()
    expect(first).toMatchObject({ success: false, errorReason: 'settlement_pending', network, payer: '' })
    expect(first.transaction).toMatch(/^0x[0-9a-f]{64}$/)

    const repeated = settle()
    await callRpc(chain.rpcUrl, 'evm_mine')
    expect(await repeated).toMatchObject({ success: true, transaction: first.transaction, network, payer })
    expect(await settle()).toMatchObject({ success: false, errorReason: 'duplicate_settlement' })
    expect(await transfersFrom(chain.rpcUrl, payer)).toHaveLength(1)
  })

  test('that does not answer, verify and settle are 500, and supported omits it', async () => {
    const { chain, supported, post } = await alone()
    await chain.stop()
    expect(outcomeOf(await post('/api/v2/verify'))).toEqual([500, 'VERIFICATION_FAILED'])
    expect(outcomeOf(await post('/api/v2/settle'))).toEqual([500, 'SETTLEMENT_FAILED'])
    expect((await supported()).body).toEqual({ kinds: [], extensions: [], signers: {} })
  })
})
