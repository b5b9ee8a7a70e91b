import { type OperatorFees } from '@tollgate/protocol'
import { closeAll } from '@tollgate/testing'
import { ADMIN_TOKEN, newAccount } from '../../testing/accounts'
import { newPayer, sharedChain } from '../../testing/chain'
import {
  testFacilitator,
  type ClientHeaders,
  type TestFacilitator,
  type TestOptions,
} from '../../testing/facilitator'
import { untilRead } from '../../testing/operator-api'
import { paymentRequest } from '../../testing/payment'

afterAll(closeAll)

const ETHER = 10n ** 18n

const feesOf = async (facilitator: TestFacilitator) =>
  (
    await untilRead<{ networks: OperatorFees[] }>(facilitator, 'fees', ({ networks }) =>
      networks.every(({ error }) => error === null),
    )
  ).networks

const started = (options: TestOptions) =>
  testFacilitator({
    ...options,
    variables: {
      ADMIN_TOKEN,
      NEW_USER_FEE_SHARE_PERCENT: '10',
      ALL_NEW_USERS_FEE_SHARE_PERCENT: '20',
      CLIENT_KEY_FEE_SHARE_PERCENT: '5',
    },
  })

async function pay({ api }: TestFacilitator, key: ClientHeaders) {
  const body = await paymentRequest(await newPayer(sharedChain()))
  const answer = await api.post('/api/v1/settle').set(key).send(body).expect(200)
  expect(answer.body).toMatchObject({ success: true })
}

test('shows the fees of a day against the cap, with the biggest users and keys and their limits', async () => {
  const facilitator = await started({ maxFeesPerDay: ETHER })
  const { api, database } = facilitator
  const [big, small] = [await newAccount(api), await newAccount(api)]
  const capped = await big.newKey({ title: 'Capped', max_fees_per_day: (ETHER / 100n).toString() })
  const [other, little] = [await big.newKey({ title: 'Other' }), await small.newKey({ title: 'Little' })]
  await database.pool.query('UPDATE users SET fee_share_bps = 5000 WHERE email = $1', [small.email])
  for (const key of [capped, capped, other, little]) await pay(facilitator, key)

  const { rows } = await database.pool.query<{ clientId: string; fee: string }>(
    'SELECT client_id AS "clientId", sum(fee)::text AS fee FROM settlements GROUP BY client_id',
  )
  const feeOf = (...keys: ClientHeaders[]) =>
    rows
      .filter(({ clientId }) => keys.some((key) => key['X-Client-ID'] === clientId))
      .reduce((sum, { fee }) => sum + BigInt(fee), 0n)
      .toString()
  const [fees] = await feesOf(facilitator)
  expect(fees).toMatchObject({
    network: 'base-sepolia',
    spent: feeOf(capped, other, little),
    cap: ETHER.toString(),
    nativeSymbol: null,
    nativeDecimals: 18,
    newUsers: { spent: feeOf(capped, other), limit: (ETHER / 5n).toString() },
    users: [
      { email: big.email, spent: feeOf(capped, other), limit: (ETHER / 10n).toString() },
      { email: small.email, spent: feeOf(little), limit: (ETHER / 2n).toString() },
    ],
    error: null,
  })
  expect(fees!.clients).toHaveLength(3)
  expect(fees!.clients[0]).toMatchObject({
    clientId: capped['X-Client-ID'],
    title: 'Capped',
    spent: feeOf(capped),
    limit: (ETHER / 100n).toString(),
  })
  expect(fees!.clients.find(({ title }) => title === 'Other')?.limit).toBe((ETHER / 20n).toString())
})

test('on a network without a cap only keys with a cap of their own are limited, and counted', async () => {
  const facilitator = await started({})
  const account = await newAccount(facilitator.api)
  await pay(facilitator, await account.newKey())
  const title = 'Capped'
  await pay(facilitator, await account.newKey({ title, max_fees_per_day: ETHER.toString() }))
  expect(await feesOf(facilitator)).toMatchObject([
    {
      cap: null,
      newUsers: { limit: null },
      users: [{ email: account.email, limit: null }],
      clients: [{ title, limit: ETHER.toString() }],
      error: null,
    },
  ])
})
