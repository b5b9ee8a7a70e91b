import { type SettleResult, type VerifyResult } from '@tollgate/protocol'
import { closeAll } from '@tollgate/testing'
import { newPayer, sharedChain, transfersFrom } from '../../testing/chain'
import { newClient } from '../../testing/facilitator'
import { facilitatorWithClient, type FacilitatorWithClient } from '../../testing/facilitator-with-client'
import { outcomeOf } from '../../testing/outcome'
import { inVersion2, paymentRequest } from '../../testing/payment'

const rpcUrl = sharedChain()
const NETWORK = 'eip155:84532'
let here: FacilitatorWithClient
beforeAll(async () => {
  here = await facilitatorWithClient()
})
afterAll(closeAll)

const ask = async (path: string, body: object) =>
  (await here.api.post(path).set(here.client).send(body).expect(200)).body as VerifyResult & SettleResult
const payment = async () => paymentRequest(await newPayer(rpcUrl))
const withoutVersion = ({ x402Version: _, ...body }: object & { x402Version: unknown }) => body

describe('at the root, the version of the body selects how a payment is read and answered', () => {
  test.each([
    ['version 1', (body: Awaited<ReturnType<typeof payment>>) => body, 'base-sepolia'],
    ['version 1 of the payload', withoutVersion, 'base-sepolia'],
    ['version 2', inVersion2, NETWORK],
    [
      'version 2 of the payload',
      (body: Awaited<ReturnType<typeof payment>>) => withoutVersion(inVersion2(body)),
      NETWORK,
    ],
  ])('%s', async (_, written, network) => {
    const body = written(await payment())
    const verified = await ask('/verify', body)
    expect(verified).toMatchObject({ isValid: true, invalidReason: '' })
    const { payer } = verified
    expect(await ask('/settle', body)).toMatchObject({ success: true, network, payer })
    const versioned = network === NETWORK ? '/api/v2' : '/api/v1'
    const [again, atRoot] = [await ask(`${versioned}/settle`, body), await ask('/settle', body)]
    expect({ ...atRoot, timestamp: '' }).toEqual({ ...again, timestamp: '' })
    expect(atRoot).toMatchObject({ success: false, errorReason: 'duplicate_settlement', network })
    expect(await transfersFrom(rpcUrl, payer)).toHaveLength(1)
  })

  test('unequal versions and unknown ones are refused', async () => {
    const body = await payment()
    const second = inVersion2(body)
    for (const mixed of [
      { ...body, x402Version: 2 },
      { ...second, x402Version: 1 },
      { ...second, paymentPayload: { ...second.paymentPayload, x402Version: 1 } },
      { ...body, x402Version: 3 },
      { ...second, x402Version: 3, paymentPayload: { ...second.paymentPayload, x402Version: 3 } },
    ])
      expect(await ask('/verify', mixed)).toMatchObject({
        isValid: false,
        invalidReason: 'invalid_x402_version',
      })
    for (const nonsense of [{}, { x402Version: '2' }, { paymentPayload: 2 }, { x402Version: 2 }])
      for (const path of ['/verify', '/settle'])
        expect(outcomeOf(await here.api.post(path).set(here.client).send(nonsense))).toEqual([
          400,
          'INVALID_REQUEST',
        ])
  })

  test('a client key is required, with its scope and its rate limit', async () => {
    const body = await payment()
    for (const [path, scope] of [
      ['/verify', 'settle,supported'],
      ['/settle', 'verify,supported'],
    ] as const) {
      expect(outcomeOf(await here.api.post(path).send(body))).toEqual([401, 'UNAUTHORIZED'])
      const other = await newClient(here.api, { scope })
      expect(outcomeOf(await here.api.post(path).set(other).send(body))).toEqual([403, 'FORBIDDEN'])
      const { headers } = await here.api.post(path).set(here.client).send({})
      expect(headers['ratelimit-policy']).toMatch(/^"payments";/)
    }
    expect(
      await here.facilitator.database.prisma.settlement.findFirst({
        where: { payer: body.paymentPayload.payload.authorization.from },
      }),
    ).toBeNull()
  })
})

test.each(['base-sepolia', '84532', NETWORK])(
  '%s names the network in either version, and in every path',
  async (name) => {
    const { api } = here
    const one = await payment()
    const first = {
      ...one,
      paymentPayload: { ...one.paymentPayload, network: name },
      paymentRequirements: { ...one.paymentRequirements, network: name },
    }
    const second = inVersion2(await payment())
    second.paymentPayload.accepted.network = name
    second.paymentRequirements.network = name
    expect(await ask('/settle', first)).toMatchObject({ success: true, network: 'base-sepolia' })
    expect(await ask('/settle', second)).toMatchObject({ success: true, network: NETWORK })
    await api.get(`/api/v1/networks/${encodeURIComponent(name)}`).expect(200, /"network":"base-sepolia"/)
    await api.get(`/discovery/resources`).query({ network: name }).expect(200)
  },
)
