import { encodeJson } from '@tollgate/protocol'
import { operationsOf, type OpenApiDocument } from '@tollgate/service'
import { closeAll } from '@tollgate/testing'
import { createContract, fuzz, fuzzOptions, type Live } from '@tollgate/testing/reference'
import { Wallet } from 'ethers'
import { randomBytes } from 'node:crypto'
import { newPayer, sharedChain, transactionCount, transfersFrom } from '../testing/chain'
import { newUser, testFacilitator, type TestFacilitator } from '../testing/facilitator'
import { AMOUNT, inSeconds, paymentRequest } from '../testing/payment'
import { liveCounts, requestOptions } from '../testing/requests'
import { signIn } from '../testing/sign-in'

const { seed, requests } = fuzzOptions()
const ADMIN_TOKEN = 'the admin token of this test and no other'
const PAYERS = 4
const LEAVER_PASSWORD = 'the password of those who leave'

const rpcUrl = sharedChain()
let facilitator: TestFacilitator
let signer: string
beforeAll(async () => {
  facilitator = await testFacilitator({ variables: { ADMIN_TOKEN } })
  signer = facilitator.signers[0]!.address
})
afterAll(closeAll)

const times = async <T>(count: number, make: (index: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, index) => make(index)))

const as = (token: string) => ({ Authorization: `Bearer ${token}` })

async function newFuzzUser({ isAdmin = false } = {}) {
  const { api } = facilitator
  const { email, password } = await newUser(api)
  if (isAdmin) await facilitator.database.prisma.user.update({ where: { email }, data: { isAdmin: true } })
  const answer = await api.post('/api/v1/login').send({ email, password }).expect(200)
  const { data } = answer.body as { data: { access_token: string; refresh_token: string } }
  return { email, password, token: data.access_token, refresh: data.refresh_token }
}

async function keyOf(token: string, body: object = {}) {
  const answer = await facilitator.api
    .post('/api/v1/clients')
    .set(as(token))
    .send({ title: 'Shop', ...body })
    .expect(200)
  return (answer.body as { data: { client: { clientId: string; token: string } } }).data.client
}

async function keysOf(one: string, other: string) {
  const revoked = await keyOf(one)
  await facilitator.api.delete(`/api/v1/clients/${revoked.clientId}`).set(as(one)).expect(200)
  const expired = await keyOf(one, { ttl_hours: 1 })
  const where = { id: expired.clientId }
  await facilitator.database.prisma.client.update({ where, data: { expiresAt: new Date() } })
  return [await keyOf(one), await keyOf(other), await keyOf(one, { scope: 'supported' }), revoked, expired]
}

async function resourceOf(token: string, document: OpenApiDocument) {
  const [example] = document.components.schemas['ResourceRegistration']!.examples as object[]
  const answer = await facilitator.api.post('/api/v1/resources').set(as(token)).send(example).expect(201)
  return String((answer.body as { data: { id: number } }).data.id)
}

async function challengeOf(token: string) {
  const wallet = Wallet.createRandom()
  const answer = await facilitator.api
    .post('/api/v1/recipients/challenge')
    .set(as(token))
    .send({ network: 'base-sepolia', address: wallet.address })
    .expect(200)
  const { nonce, message } = (answer.body as { data: { nonce: string; message: string } }).data
  return { nonce, signature: await wallet.signMessage(message) }
}

async function leaverOf() {
  const { api } = facilitator
  const user = { email: `${randomBytes(8).toString('hex')}@example.com`, password: LEAVER_PASSWORD }
  await api.post('/api/v1/signup').send(user).expect(200)
  const { id, accessToken } = await signIn(api, user)
  const issued = await api.post(`/admin/users/${id}/password-reset`).set(as(ADMIN_TOKEN)).expect(200)
  return {
    id: String(id),
    token: accessToken,
    reset: (issued.body as { data: { token: string } }).data.token,
  }
}

async function ownerOf() {
  const { api } = facilitator
  const user = await newUser(api)
  await times(liveCounts.session, () => signIn(api, user))
  const { accessToken, authorization } = await signIn(api, user)
  const listed = await api.get('/api/v1/sessions').set(authorization).expect(200)
  const sessions = (listed.body as { data: { id: string; current: boolean }[] }).data
  const webhooks = await times(liveCounts.webhook, () => webhookOf(authorization))
  const tested = await api.post(`/api/v1/webhooks/${webhooks[0]}/test`).set(authorization).expect(200)
  return {
    token: accessToken,
    sessions: sessions.filter(({ current }) => !current).map(({ id }) => id),
    webhooks,
    delivery: (tested.body as { data: { id: string } }).data.id,
  }
}

async function webhookOf(authorization: { Authorization: string }) {
  const webhook = { url: 'https://shop.example/hooks' }
  const answer = await facilitator.api.post('/api/v1/webhooks').set(authorization).send(webhook).expect(201)
  return (answer.body as { data: { id: string } }).data.id
}

async function adminId(path: string, body: object) {
  const answer = await facilitator.api.post(path).set(as(ADMIN_TOKEN)).send(body).expect(200)
  return String((answer.body as { data: { id: number } }).data.id)
}

const recipientOf = (email: string) =>
  adminId('/admin/recipients', { email, network: 'base-sepolia', address: Wallet.createRandom().address })

/** Generated requests disable users and take assets out of use by small ids: those of the users and the asset at work are large. */
async function moveIds() {
  const { pool } = facilitator.database
  await pool.query(`SELECT setval('users_id_seq', 1000000)`)
  await pool.query('UPDATE assets SET id = id + 1000000')
  const { rows } = await pool.query<{ id: number }>('SELECT id FROM assets')
  await pool.query(
    `INSERT INTO assets (id, network, asset, symbol, decimals, active) VALUES (1, 'base-sepolia', $1, 'NONE', 6, false)`,
    [`0x${'1'.repeat(40)}`],
  )
  await pool.query(`INSERT INTO users (id, email, password_hash) VALUES (2, 'spare@example.com', '')`)
  return String(rows[0]?.id)
}

async function liveValues(document: OpenApiDocument): Promise<{ live: Live; payers: string[] }> {
  const registered = await moveIds()
  const admin = await newFuzzUser({ isAdmin: true })
  const [first, second] = [await newFuzzUser(), await newFuzzUser()]
  const users = [first, second, admin]
  const keys = await keysOf(first.token, second.token)
  const spare = await times(liveCounts.spare, () => keyOf(first.token))
  const resources = await times(liveCounts.resource, () => resourceOf(first.token, document))
  const wallets = await times(PAYERS, () => newPayer(rpcUrl))
  const authorization = { validBefore: inSeconds(6 * 3_600) }
  const payments = await times(liveCounts.payment, async (index) => {
    const body = await paymentRequest(wallets[index % PAYERS]!, { authorization })
    return { ...body.paymentPayload.payload, asset: body.paymentRequirements.asset }
  })

  const challenges = await times(liveCounts.challenge, () => challengeOf(first.token))
  const recipients = await times(liveCounts.recipient, () => recipientOf(first.email))
  const invitations = await times(liveCounts.invitation, () => adminId('/admin/invitations', {}))

  const leavers = await times(liveCounts.leaver, leaverOf)
  const owner = await ownerOf()

  const signedValue = (name: string) => (index: number) => payments[index]?.authorization[name as 'from']
  const values: Record<string, (index: number) => string | undefined> = {
    user: (index) => users[index]?.token,
    admin: () => admin.token,
    adminToken: () => ADMIN_TOKEN,
    email: () => first.email,
    EMAIL: () => first.email.toUpperCase(),
    password: () => first.password,
    refresh: (index) => users[index]?.refresh,
    clientId: (index) => keys[index]?.clientId,
    clientToken: (index) => keys[index]?.token,
    spare: (index) => spare[index]?.clientId,
    resource: (index) => resources[index],
    asset: () => payments[0]?.asset,
    nonceOf: (index) => challenges[index]?.nonce,
    textSignature: (index) => challenges[index]?.signature,
    recipient: (index) => recipients[index],
    invitation: (index) => invitations[index],
    leaver: (index) => leavers[index]?.token,
    leaverId: (index) => leavers[index]?.id,
    leaverPassword: () => LEAVER_PASSWORD,
    owner: () => owner.token,
    session: (index) => owner.sessions[index],
    webhook: (index) => owner.webhooks[index],
    delivery: () => owner.delivery,
    reset: (index) => leavers[index]?.reset,
    registered: () => registered,
    signature: (index) => payments[index]?.signature,
    payTo: (index) => payments[index]?.authorization.to,
    encoded: (index) => encodeJson({ ...payments[index], asset: undefined }),
  }
  return {
    payers: wallets.map(({ address }) => address),
    /** A mutated placeholder may have an index without a value. */
    live: (name, index) => (values[name] ?? signedValue(name))(index) ?? '',
  }
}

test(`${requests} requests from its own schemas get documented responses, and the settlements match the chain`, async () => {
  const { api, url, database } = facilitator
  const document = (await api.get('/openapi.json').expect(200)).body as OpenApiDocument
  const { live, payers } = await liveValues(document)

  const { counts, failures, unserved } = await fuzz({
    url,
    document,
    contract: createContract(document),
    requestOptions,
    live,
    seed,
    requests,
    alsoWrong: ({ status }) => (status >= 500 && status !== 503 ? 'is an error of ours' : undefined),
  })

  expect(failures).toEqual([])
  expect(unserved).toEqual([])
  for (const operation of ['settle', 'verify'])
    expect(Object.keys(counts[operation] ?? {})).toEqual(expect.arrayContaining(['200', '400', '401', '403']))

  const rows = await waitForClosedSettlements(database)
  expect(new Set(rows.map(({ status }) => status))).toEqual(new Set(['settled']))
  const transfers = (await Promise.all(payers.map((payer) => transfersFrom(rpcUrl, payer)))).flat()
  expect(transfers.map(({ transaction }) => transaction).sort()).toEqual(
    rows.map(({ transactionHash }) => transactionHash).sort(),
  )
  expect(new Set(transfers.map(({ value }) => value))).toEqual(new Set([AMOUNT]))
  expect(transfers.length).toBeGreaterThan(0)
  const sent = new Set(transfers.map(({ transaction }) => transaction))
  expect(await transactionCount(rpcUrl, signer)).toBe(sent.size)
  const described = operationsOf(document).map(({ path }) => path.replace(/\{(\w+)\}/g, ':$1'))
  const counted = await database.pool.query<{ route: string }>('SELECT DISTINCT route FROM http_metrics')
  expect([...described, 'none']).toEqual(expect.arrayContaining(counted.rows.map(({ route }) => route)))
  expect(counted.rows.length).toBeGreaterThan(10)
  await api.get('/ready').expect(200)
}, 600_000)

async function waitForClosedSettlements({ prisma }: TestFacilitator['database']) {
  for (const deadline = Date.now() + 30_000; ;) {
    const rows = await prisma.settlement.findMany()
    const open = rows.filter(({ status }) => status === 'claimed' || status === 'signed')
    if (open.length === 0) return rows
    if (Date.now() > deadline) throw new Error(`${open.length} settlements are still open`)
  }
}
