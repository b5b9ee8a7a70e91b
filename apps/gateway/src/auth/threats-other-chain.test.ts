import { deploySmartWallet } from '@tollgate/devnet'
import { type AccessKey, type CreatedAccessKey } from '@tollgate/protocol'
import { getAddress, Wallet, type BaseWallet } from 'ethers'
import { balanceOf, insertPayment } from '../testing/accounts'
import { planOf, providerOf } from '../testing/catalog'
import { auditAndClose, testGateway, type TestGateway } from '../testing/gateway'
import { outcomeOf } from '../testing/outcome'
import { startUpstream } from '../testing/upstream'
import { createCall, createLogins } from '../testing/wallet'

const rpcUrl = process.env.TEST_EVM_RPC_URL!
const MAGIC = `0x1626ba7e${'0'.repeat(56)}`

let gateway: TestGateway
beforeAll(async () => {
  gateway = await testGateway()
  gateway.catalog.providers[0]!.rpc = [rpcUrl]
  gateway.catalog.plans.push(planOf({ id: 2, network: 'base', chain_id: '8453' }))
  // The address is a contract of somebody else on chain 8453, and that contract accepts what its owner signs.
  const otherChain = await startUpstream((res, { body }) => {
    const { method, id } = JSON.parse(body.toString()) as { method: string; id: number }
    const result = method === 'eth_chainId' ? '0x2105' : MAGIC
    return res.end(JSON.stringify({ jsonrpc: '2.0', id, result }))
  })
  gateway.catalog.providers.push(providerOf({ chain_id: '8453', rpc: [otherChain.url] }))
  await gateway.reapply()
})
afterAll(() => auditAndClose(gateway))

const CHAINS = [undefined, '84532', '8453']

async function sessionOf(address: string, signer: BaseWallet, planId: number) {
  const { signIn } = createLogins(gateway, address, async (message) => ({
    signature: await signer.signMessage(message),
    auth_method: 'siwe',
    x402_chain_id: CHAINS[planId],
    x402_ecosystem: 'evm',
    pricing_plan_id: planId,
  }))
  const { token } = await signIn()
  const request = (method: 'get' | 'post' | 'put' | 'delete', path: string, body?: object) => {
    const sent = gateway.api[method](path).set('authorization', `Bearer ${token}`)
    return body ? sent.send(body) : sent
  }
  return {
    request,
    call: createCall(gateway.api, token),
    createKey: async () =>
      (await request('post', '/keys', { label: 'mine' }).expect(201)).body as CreatedAccessKey,
    createWebhook: async () => {
      const wanted = { url: 'https://app.example/hooks', balance_below: 50 }
      return (await request('post', '/webhooks', wanted).expect(201)).body as { id: string }
    },
    async ids(path: '/keys' | '/webhooks') {
      const { data } = (await request('get', path).expect(200)).body as { data: Pick<AccessKey, 'id'>[] }
      return data.map(({ id }) => id)
    },
  }
}

/** One address on two chains, with an owner on each. */
async function twoOwners() {
  const [owner, stranger] = [1, 2].map(() => new Wallet(Wallet.createRandom().privateKey))
  const address = getAddress(await deploySmartWallet(rpcUrl, owner!.address))
  return {
    address,
    own: await sessionOf(address, owner!, 1),
    again: await sessionOf(address, owner!, 1),
    other: await sessionOf(address, stranger!, 2),
  }
}

test('a contract’s owner on another chain neither sees, makes nor deletes the access keys of the address', async () => {
  const { own, again, other } = await twoOwners()
  const [{ id }, elsewhere] = [await own.createKey(), await other.createKey()]
  expect(await other.ids('/keys')).toEqual([elsewhere.id])
  expect(outcomeOf(await other.request('delete', `/keys/${id}`))).toEqual([404, 'NOT_FOUND'])
  expect(await again.ids('/keys')).toEqual([id])
  expect(outcomeOf(await again.request('delete', `/keys/${elsewhere.id}`))).toEqual([404, 'NOT_FOUND'])
  await again.request('delete', `/keys/${id}`).expect(200)
})

test('fills up no more than his own access keys', async () => {
  const { address, own, other } = await twoOwners()
  await other.createKey()
  await gateway.pool.query(
    `INSERT INTO access_keys (id, hash, wallet, pricing_plan_id, label)
     SELECT gen_random_uuid(), decode(md5(random()::text), 'hex'), $1, 2, 'filler' FROM generate_series(1, 99)`,
    [address],
  )
  expect(outcomeOf(await other.request('post', '/keys', { label: 'one more' }))).toEqual([409, 'CONFLICT'])
  await own.createKey()
})

test('neither sees nor changes its webhooks, which get the events of their own chain', async () => {
  const { address, own, again, other } = await twoOwners()
  const [{ id }, elsewhere] = [await own.createWebhook(), await other.createWebhook()]
  expect([await again.ids('/webhooks'), await other.ids('/webhooks')]).toEqual([[id], [elsewhere.id]])
  for (const [method, path] of [
    ['put', `/webhooks/${id}`],
    ['delete', `/webhooks/${id}`],
    ['post', `/webhooks/${id}/secret`],
    ['post', `/webhooks/${id}/test`],
    ['get', `/webhooks/${id}/deliveries`],
  ] as const)
    expect([path, outcomeOf(await other.request(method, path, { active: false }))]).toEqual([
      path,
      [404, 'NOT_FOUND'],
    ])
  await gateway.fund(address, 50)
  await own.call().expect(200)
  const payment = await insertPayment(gateway.pool, {
    wallet: address,
    credits: 1,
    planId: 2,
    status: 'received',
  })
  await gateway.pool.query("UPDATE payments SET status = 'failed' WHERE id = $1", [payment])
  const text = `SELECT endpoint_id AS endpoint, type FROM webhook_deliveries
    JOIN webhook_events AS event ON event.id = event_id WHERE endpoint_id = ANY ($1) ORDER BY event.id`
  expect((await gateway.pool.query(text, [[id, elsewhere.id]])).rows).toEqual([
    { endpoint: id, type: 'credits.bought' },
    { endpoint: id, type: 'credits.low' },
    { endpoint: elsewhere.id, type: 'payment.failed' },
  ])
})

test('spends no credits of the address on the first chain', async () => {
  const { address, other } = await twoOwners()
  await gateway.fund(address, 100)
  expect((await other.call()).status).toBe(402)
  expect(await balanceOf(gateway.ledger, address)).toBe(100n)
})

test('an account with a key has the same keys and webhooks on every chain', async () => {
  const signer = new Wallet(Wallet.createRandom().privateKey)
  const [one, other] = [
    await sessionOf(signer.address, signer, 1),
    await sessionOf(signer.address, signer, 2),
  ]
  const [key, webhook] = [await one.createKey(), await one.createWebhook()]
  expect([await other.ids('/keys'), await other.ids('/webhooks')]).toEqual([[key.id], [webhook.id]])
  await other.request('delete', `/keys/${key.id}`).expect(200)
  await other.request('delete', `/webhooks/${webhook.id}`).expect(200)
})
